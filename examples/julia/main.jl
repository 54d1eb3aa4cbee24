# Newton's method on what examples/julia/export.py wrote.
# usage: julia main.jl FOLDER

using LinearAlgebra

include(joinpath(abspath(ARGS[1]), "valley.jl"))

function minimize(x; steps = 100)
    for step in 1:steps
        at = Valley.derivatives(x)
        norm(at.gradient) < 1e-10 && return x, step
        move = -(Symmetric(at.hessian) \ at.gradient)
        scale = 1.0
        while Valley.derivatives(x + scale * move).value > at.value && scale > 1e-8
            scale /= 2
        end
        x += scale * move
    end
    return x, steps
end

x, steps = minimize(zeros(8))
println("$steps steps, at most $(maximum(abs.(x .- 1))) off")
