// Name patterns of the protocol: `*` matches any characters.

/** Whether the whole name matches the pattern. */
export function matches(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let retry = 0;
  while (n < name.length) {
    if (p < pattern.length && pattern[p] === "*") {
      star = p++;
      retry = n;
    } else if (p < pattern.length && pattern[p] === name[n]) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** A tensor's name with its layer number replaced by `*`: "layers.3.qkv.weight" of layer 3 becomes "layers.*.qkv.weight". */
export function familyOf(name: string, layer: number): string {
  if (layer < 0) return name;
  const number = String(layer);
  return name
    .split(".")
    .map((part) => (part === number ? "*" : part))
    .join(".");
}
