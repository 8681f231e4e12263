/* JSON whose numbers keep all their digits: DynamoDB has 38, JavaScript 15. */

/* A number as it was written. */
export class Digits {
  constructor(text) {
    this.text = text;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const SPACE = /[ \t\r\n]*/y;

/* Throws a SyntaxError with the place. Objects have no prototype, so that "__proto__" is a name like others. */
export function parseJson(text) {
  let at = 0;
  function fail(expected) {
    const line = text.slice(0, at).split("\n").length;
    throw new SyntaxError(`Line ${line}: expected ${expected}${at < text.length ? `, not ${JSON.stringify(text.slice(at, at + 12))}` : ", but the text ends"}`);
  }
  function match(pattern) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found ? found[0].length : 0;
    return found?.[0];
  }
  function take(character) {
    match(SPACE);
    if (text[at] !== character) {
      return false;
    }
    at++;
    match(SPACE);
    return true;
  }
  function members(end, read) {
    if (take(end)) {
      return;
    }
    do {
      match(SPACE);
      read();
    } while (take(","));
    if (!take(end)) {
      fail(`, or ${end}`);
    }
  }
  function string() {
    const found = match(STRING);
    return found === undefined ? fail("a string") : JSON.parse(found);
  }
  function value(depth) {
    if (depth > 40) {
      fail("at most 40 levels");
    }
    match(SPACE);
    if (take("{")) {
      const object = Object.create(null);
      members("}", () => {
        const name = string();
        if (name in object) {
          fail(`each name once: "${name}" occurs twice`);
        }
        if (!take(":")) {
          fail(":");
        }
        object[name] = value(depth + 1);
      });
      return object;
    }
    if (take("[")) {
      const list = [];
      members("]", () => list.push(value(depth + 1)));
      return list;
    }
    if (text[at] === '"') {
      return string();
    }
    for (const [word, meaning] of [["true", true], ["false", false], ["null", null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    const number = match(NUMBER);
    return number === undefined ? fail("a value") : new Digits(number);
  }
  const result = value(0);
  match(SPACE);
  if (at < text.length) {
    fail("the end");
  }
  return result;
}

/* Splits JSON that arrives in pieces into the texts of its elements: those of one array, or values that follow one
 * another (JSON lines). push(piece) gives the texts that are complete; end() tells whether something is missing. */
export function jsonSplitter() {
  let rest = "";
  let at = 0; /* how far `rest` was looked at */
  let start = -1; /* where the current element begins */
  let depth = 0;
  let inString = false;
  let isArray = null; /* of elements, known from the first character */
  return {
    push(piece) {
      rest += piece;
      const found = [];
      const base = () => (isArray ? 1 : 0);
      for (; at < rest.length; at++) {
        const character = rest[at];
        if (inString) {
          if (character === "\\") {
            if (at + 1 >= rest.length) {
              break; /* the next piece tells what is escaped */
            }
            at++;
          } else if (character === '"') {
            inString = false;
          }
          continue;
        }
        if (isArray === null && !/[\s\ufeff]/.test(character)) {
          isArray = character === "[";
          if (isArray) {
            depth = 1;
            continue;
          }
        }
        if (character === '"') {
          inString = true;
        } else if (character === "{" || character === "[") {
          if (depth === base() && start < 0) {
            start = at;
          }
          depth++;
        } else if (character === "}" || character === "]") {
          depth--;
          if (depth === base() && start >= 0) {
            found.push(rest.slice(start, at + 1));
            start = -1;
          }
        } else if (depth === base() && start < 0 && !/[\s,\ufeff]/.test(character)) {
          throw new SyntaxError(`Expected objects, not ${JSON.stringify(rest.slice(at, at + 20))}`);
        }
      }
      const kept = start >= 0 ? start : at;
      rest = rest.slice(kept);
      at -= kept;
      start = start >= 0 ? 0 : -1;
      return found;
    },
    end() {
      if (start >= 0 || inString || (isArray && depth > 0)) {
        throw new SyntaxError("The file ends in the middle of a value");
      }
    },
  };
}
