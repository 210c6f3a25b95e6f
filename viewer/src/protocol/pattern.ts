// Patterns of names as the protocol has them: `*` stands for any characters.

/** Whether the whole name is of the pattern. */
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

/** A tensor's name with the number of its layer as `*`: "layers.3.qkv.weight" of layer 3 is "layers.*.qkv.weight". */
export function familyOf(name: string, layer: number): string {
  if (layer < 0) return name;
  const number = String(layer);
  return name
    .split(".")
    .map((part) => (part === number ? "*" : part))
    .join(".");
}
