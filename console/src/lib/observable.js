/* Values that components share. */
import { useEffect, useState } from "preact/hooks";

/* {get(), set(value), subscribe(listener)} */
export function observable(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (next !== value) {
        value = next;
        listeners.forEach((listener) => listener(value));
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useObservable(source) {
  const [value, setValue] = useState(source.get());
  useEffect(() => {
    setValue(source.get()); /* it may have changed since the first rendering */
    return source.subscribe(setValue);
  }, [source]);
  return value;
}
