// Loads the parts of the browser's half. The file of a part holds its modules one after the other: they are compressed together
// and come with one request. A module that several parts share is made once.
import { initSync } from "../onceover.js";

const modules = new Map();
/** What the main module exports; it is there, since it asks. */
const main = () => initSync(undefined, undefined);

async function load(part, places) {
  const answer = await fetch(new URL(`./${part}.wasm`, import.meta.url));
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
  const bytes = await answer.arrayBuffer();
  const imports = { __wasm_split: { ...main(), ...CANARY } };
  const made = places.map(([name, start, length]) => {
    if (!modules.has(name)) modules.set(name, WebAssembly.instantiate(new Uint8Array(bytes, start, length), imports));
    return modules.get(name);
  });
  await Promise.all(made);
}

function loader(part, places) {
  let loading;
  return async (callback, data) => {
    let isLoaded = true;
    try {
      await (loading ??= load(part, places));
    } catch (error) {
      // Asked again, it is tried again.
      loading = undefined;
      isLoaded = false;
      console.error(error);
    }
    main().__indirect_function_table.get(callback)(data, isLoaded);
  };
}
