//! Fits a network to a curve, and prints how far it is from it.

use curve::{Error, State, Workspace, WORKSPACE};

const POINTS: usize = 64;

fn main() -> Result<(), Error> {
    curve::check()?;
    let x: [f32; POINTS] = std::array::from_fn(|i| 2.0 * i as f32 / (POINTS - 1) as f32 - 1.0);
    let y = x.map(|x| (4.0 * x).sin());

    let mut state = State::zeroed();
    let mut workspace = Workspace::<WORKSPACE>::new();
    curve::init(1, &mut state, &mut workspace)?;
    for step in 0..=3000 {
        let loss = curve::step(&mut state, &x, &y, 0.05, &mut workspace)?;
        if step % 500 == 0 {
            println!("step {step}, loss {loss:.9}");
        }
    }

    let mut found = [0.0; POINTS];
    curve::predict(&state.params, &x, &mut found, &mut workspace)?;
    let worst = found
        .iter()
        .zip(&y)
        .map(|(found, y)| (found - y).abs())
        .fold(0.0, f32::max);
    println!("at most {worst:.3} off");
    Ok(())
}
