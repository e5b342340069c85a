// Colours. A process has the same colour in all runs: a hash of its name; after
// a collision inside one trace, the next free hue. All fills have one OKLCH
// lightness, so that no process stands out. Pure.

export interface Rgb {
  r: number; // 0..255
  g: number;
  b: number;
}

// OKLab to linear sRGB (B. Ottosson), then the sRGB transfer curve.
export function oklch(lightness: number, chroma: number, hueDegrees: number): Rgb {
  const hue = hueDegrees * Math.PI / 180;
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
  const curve = (x: number): number => {
    const v = Math.min(Math.max(x, 0), 1);
    return Math.round(
        255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
  };
  return {
    r: curve(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    g: curve(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    b: curve(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s),
  };
}

export const css = ({r, g, b}: Rgb): string => `rgb(${r} ${g} ${b})`;

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const part = (x: number, y: number): number => Math.round(x + (y - x) * share);
  return {r: part(a.r, b.r), g: part(a.g, b.g), b: part(a.b, b.b)};
}

export function luminance({r, g, b}: Rgb): number {
  const part = (v: number): number => {
    const x = v / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}

export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
}

const BLACK: Rgb = {r: 16, g: 20, b: 28};
const WHITE: Rgb = {r: 255, g: 255, b: 255};

export function textOn(fill: Rgb): Rgb {
  return contrast(fill, BLACK) >= contrast(fill, WHITE) ? BLACK : WHITE;
}

// FNV-1a; it must never change, because it gives the colours.
export function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; ++i) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}

export const HUES = 12;

// Slot of each name: 0..11 the hues, 12..23 the same hues in a second tone.
export function assignSlots(namesInOrder: readonly string[]): Map<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of namesInOrder) {
    if (slots.has(name)) continue;
    const hash = hashName(name);
    let slot = hash % HUES;
    if (taken.size < 2 * HUES) {
      const tone = taken.size >= HUES ? HUES : 0;
      for (let i = 0; i < HUES; ++i) {
        const candidate = tone + (hash + 5 * i) % HUES;
        if (!taken.has(candidate)) {
          slot = candidate;
          break;
        }
      }
    }
    taken.add(slot);
    slots.set(name, slot);
  }
  return slots;
}

export interface Theme {
  dark: boolean;
  background: Rgb;
  lane: Rgb; // behind strips
  idle: Rgb;
  outside: Rgb;
  ink: Rgb;
  muted: Rgb;
  line: Rgb;
  accent: Rgb;
  loss: Rgb;
  wait: Rgb; // runnable, on no CPU
  interrupt: Rgb;
  other: Rgb; // processes without a share of their own
}

export const LIGHT: Theme = {
  dark: false,
  background: {r: 255, g: 255, b: 255},
  lane: {r: 246, g: 247, b: 249},
  idle: {r: 232, g: 235, b: 239},
  outside: {r: 205, g: 210, b: 217},
  ink: {r: 27, g: 34, b: 46},
  muted: {r: 98, g: 108, b: 124},
  line: {r: 228, g: 231, b: 236},
  accent: {r: 35, g: 95, b: 205},
  loss: {r: 200, g: 55, b: 45},
  wait: {r: 222, g: 142, b: 0},
  interrupt: {r: 104, g: 40, b: 150},
  other: {r: 158, g: 165, b: 176},
};
export const DARK: Theme = {
  dark: true,
  background: {r: 19, g: 22, b: 28},
  lane: {r: 25, g: 29, b: 36},
  idle: {r: 36, g: 41, b: 50},
  outside: {r: 62, g: 69, b: 81},
  ink: {r: 226, g: 230, b: 237},
  muted: {r: 142, g: 152, b: 168},
  line: {r: 42, g: 48, b: 58},
  accent: {r: 110, g: 168, b: 254},
  loss: {r: 242, g: 110, b: 98},
  wait: {r: 240, g: 168, b: 40},
  interrupt: {r: 196, g: 140, b: 245},
  other: {r: 104, g: 112, b: 126},
};

export function slotColour(slot: number, theme: Theme): Rgb {
  const hue = (slot % HUES) * 30 + 25;
  const second = slot >= HUES;
  return theme.dark ? oklch(second ? 0.62 : 0.74, second ? 0.085 : 0.105, hue) :
                      oklch(second ? 0.65 : 0.76, second ? 0.105 : 0.115, hue);
}

// Segments are paler than processes, so that they are not mistaken for each
// other.
export function segmentColour(slot: number, theme: Theme): Rgb {
  const hue = (slot % HUES) * 30 + 10;
  const second = slot >= HUES;
  return theme.dark ? oklch(second ? 0.4 : 0.48, 0.07, hue) :
                      oklch(second ? 0.75 : 0.83, 0.075, hue);
}

// A thread's row has the colour of its process, in a tone for each CPU: a
// change of tone = migration.
export function runColour(process: Rgb, cpu: number, theme: Theme): Rgb {
  return mix(process, theme.background, 0.14 * (cpu % 3));
}
