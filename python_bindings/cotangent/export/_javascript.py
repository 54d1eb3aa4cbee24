"""The JavaScript module that calls a library for WebAssembly."""

from __future__ import annotations

import json

_LOADER = """// %(name)s: made by cotangent. Runs %(name)s.wasm in a browser, node, deno or a worker; needs nothing else.
//
//   import { load } from "./%(name)s.mjs";
//   const { functions } = await load();             // or load(bytes), load(await fetch(url)), load(module)
//   const call = functions.%(first)s.allocate();    // its parameters and results: numbers, and views of the module's memory
//   call.%(parameter)s = ...;                       // a number; an array: copied from a list or typed array, or filled with a number
//   functions.%(first)s(call);                      // throws an Error for what C calls a status
//
// Arrays are typed arrays, the last index first, complex numbers pairs, float16 and bfloat16 their 16 bits, keys and 64-bit integers BigInt;
// other pytrees are objects with their members, and arrays of such. Take views anew after `allocate`: memory that grows leaves old ones empty.
// What one function made another one takes: functions.predict.allocate({ params: call.params }).

export const description = %(description)s;

const VIEWS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, key: BigUint64Array, float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array,
  float64: Float64Array, complex64: Float32Array, complex128: Float64Array,
};
const POINTER = Symbol("pointer");
const product = (sizes) => sizes.reduce((all, size) => all * size, 1);
const view_of = (dtype) => VIEWS[dtype] ?? Uint8Array;

async function instantiate(source) {
  if (source === undefined) {
    const url = new URL("./%(name)s.wasm", import.meta.url);
    if (url.protocol === "file:" && globalThis.process?.versions?.node) {
      source = await (await import("node:fs/promises")).readFile(url);
    } else {
      source = await fetch(url);
    }
  }
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, {});
  if (typeof Response !== "undefined" && source instanceof Response) source = await source.arrayBuffer();
  return (await WebAssembly.instantiate(source, {})).instance;
}

export async function load(source) {
  const { exports } = await instantiate(source);
  const memory = exports.memory;
  const structures = Object.fromEntries(description.structures.map((structure) => [structure.name, structure]));
  const number = BigInt.asUintN(64, exports[`${description.library}_signature`]());
  if (number !== BigInt(description.signature)) throw new Error("%(name)s.wasm is not the module of %(name)s.mjs");
  let end = exports.__heap_base.value;

  // Never given back: a program allocates once and calls often.
  function allocate(bytes) {
    const at = Math.ceil(end / 64) * 64;
    end = at + bytes;
    const lacking = end - memory.buffer.byteLength;
    if (lacking > 0) memory.grow(Math.ceil(lacking / 65536));
    return at;
  }
  function array(dtype, count, at) {
    return new (view_of(dtype))(memory.buffer, at, count);
  }
  function member(object, name, type, at) {
    const structure = structures[type.type];
    const count = product(type.dimensions);
    if (structure === undefined) {
      const get = () => array(type.dtype, count, at);
      const set = (values) => (typeof values === "object" ? get().set(values) : get().fill(values));
      object.define(name, { enumerable: true, get, set });
    } else {
      const whole = build(structure, type.dimensions, at);
      object.define(name, { enumerable: true, get: () => whole, set: (values) => copy(values, whole) });
    }
  }
  function build(structure, dimensions, at) {
    if (dimensions.length > 0) {
      const stride = product(dimensions.slice(1)) * structure.bytes;
      return Array.from({ length: dimensions[0] }, (_, i) => build(structure, dimensions.slice(1), at + i * stride));
    }
    const made = {};
    Object.defineProperty(made, POINTER, { value: at });
    const object = { define: (name, property) => Object.defineProperty(made, name, property) };
    for (const each of structure.members) member(object, each.name, each, at + each.offset);
    return made;
  }
  function copy(from, to) {
    for (const name of Object.keys(to)) {
      if (Array.isArray(to)) copy(from[name], to[name]);
      else to[name] = from[name];
    }
  }

  function message(status) {
    const bytes = new Uint8Array(memory.buffer);
    const at = exports[`${description.library}_error`](status);
    return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
  }

  function callable(described) {
    const run = allocate(24);
    const workspace = described.workspace_bytes > 0 ? allocate(described.workspace_bytes) : 0;
    const entry = exports[described.symbol];
    const pointers = new WeakMap();
    function call(values) {
      const places = pointers.get(values);
      if (places === undefined) throw new TypeError(`${described.name}: its argument is what ${described.name}.allocate returned`);
      new Uint32Array(memory.buffer, run, 6).set([24, workspace, described.workspace_bytes, 0, 0, 0]);
      const status = entry(...described.parameters.map((p) => (p.by_value ? values[p.name] : places[p.name])), run);
      if (status !== 0) throw new Error(`${described.name}: ${message(status)}`);
      return values;
    }
    call.allocate = (shared = {}) => {
      const values = {}, places = {};
      const object = { define: (name, property) => Object.defineProperty(values, name, property) };
      for (const p of described.parameters) {
        if (p.by_value) {
          values[p.name] = view_of(p.dtype).name.startsWith("Big") ? 0n : 0;
        } else if (shared[p.name] !== undefined) {
          const given = shared[p.name];
          const first = Array.isArray(given) ? given.flat(Infinity)[0] : given;
          places[p.name] = ArrayBuffer.isView(first) ? first.byteOffset : first[POINTER];
          member(object, p.name, p, places[p.name]);
        } else {
          places[p.name] = allocate(p.bytes);
          member(object, p.name, p, places[p.name]);
        }
      }
      pointers.set(values, places);
      return values;
    };
    return call;
  }

  const functions = {};
  for (const described of description.functions) functions[described.name] = callable(described);
  return { functions, exports, memory, allocate, describe: description };
}
"""


def loader(name: str, description: str) -> str:
    """The text of NAME.mjs. ``description`` is what the library says of itself, as JSON."""
    document = json.loads(description)
    function = document["functions"][0]
    parameters = [parameter["name"] for parameter in function["parameters"]]
    return _LOADER % {
        "name": name,
        "description": description.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "first": function["name"],
        "parameter": parameters[0] if parameters else "x",
    }
