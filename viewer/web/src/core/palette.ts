// Colours. The heaviest processes of a trace have hues: a hash of the name, so
// that it is the same in all runs; after a collision, the next free one. All
// others are neutral. Fills have a contrast of at least 3 to what is behind
// them, and in the usual palette one OKLCH lightness, so that none stands out.
// The safe palette differs in lightness and between blue and yellow, which
// people without red or green receptors see. Pure.

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

const texts = new Map<number, string>(); // a frame needs thousands, of a few colours

export function css({r, g, b}: Rgb): string {
  const key = (r << 16) + (g << 8) + b;
  let text = texts.get(key);
  if (text === undefined) {
    text = `rgb(${r} ${g} ${b})`;
    texts.set(key, text);
  }
  return text;
}

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

const BLACK: Rgb = {r: 0, g: 0, b: 0};
const WHITE: Rgb = {r: 255, g: 255, b: 255};

// One of the two has a contrast of at least 4.5 to any fill.
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

// Slot of each name, as many as there are; then names have none.
export function assignSlots(namesInOrder: readonly string[], slots: number): Map<string, number> {
  const given = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of namesInOrder) {
    if (given.size === slots) break;
    if (given.has(name)) continue;
    const hash = hashName(name);
    const tone = given.size - given.size % HUES; // first all hues in one tone
    for (let i = 0; i < HUES; ++i) {
      const slot = tone + (hash + 5 * i) % HUES;
      if (taken.has(slot)) continue;
      taken.add(slot);
      given.set(name, slot);
      break;
    }
  }
  return given;
}

export interface Theme {
  dark: boolean;
  safe: boolean; // colours that differ under colour blindness
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
  other: Rgb; // processes without a hue, or without a share of their own
}

export const LIGHT: Theme = {
  dark: false,
  safe: false,
  background: {r: 255, g: 255, b: 255},
  lane: {r: 246, g: 247, b: 249},
  idle: {r: 232, g: 235, b: 239},
  outside: {r: 205, g: 210, b: 217},
  ink: {r: 27, g: 34, b: 46},
  muted: {r: 98, g: 108, b: 124},
  line: {r: 228, g: 231, b: 236},
  accent: {r: 35, g: 95, b: 205},
  loss: {r: 200, g: 55, b: 45},
  wait: {r: 196, g: 117, b: 0},
  interrupt: {r: 104, g: 40, b: 150},
  other: {r: 126, g: 133, b: 145},
};
export const DARK: Theme = {
  dark: true,
  safe: false,
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
  other: {r: 116, g: 124, b: 138},
};

export function slotColour(slot: number, theme: Theme): Rgb {
  if (theme.safe) return safeColour(slot, theme);
  const hue = (slot % HUES) * 30 + 25;
  return theme.dark ? oklch(0.73, 0.11, hue) : oklch(0.6, 0.12, hue);
}

// Four tones of blue, of pink and of yellow. Neighbouring slots differ in both.
function safeColour(slot: number, theme: Theme): Rgb {
  const hue = slot % 3;
  const lightness = theme.dark ? [0.57, 0.79, 0.68, 0.9] : [0.61, 0.39, 0.5, 0.28];
  const chroma = theme.dark ? [0.1, 0.08, 0.12] : [0.14, 0.1, 0.1];
  const hues = theme.dark ? [255, 350, 90] : [260, 345, 90];
  return oklch(lightness[slot % 4] ?? 0, chroma[hue] ?? 0, hues[hue] ?? 0);
}

// Segments are paler than processes, so that they are not mistaken for each
// other.
export const SEGMENT_SLOTS = 2 * HUES;
export function segmentColour(slot: number, theme: Theme): Rgb {
  if (theme.safe) return safeColour(slot, theme);
  const hue = (slot % HUES) * 30 + 10;
  const second = slot >= HUES;
  return theme.dark ? oklch(second ? 0.65 : 0.56, 0.075, hue) :
                      oklch(second ? 0.55 : 0.645, 0.075, hue);
}

// A thread's row has the colour of its process, in a tone for each CPU: a
// change of tone = migration.
export function runColour(process: Rgb, cpu: number, theme: Theme): Rgb {
  return mix(process, theme.ink, 0.14 * (cpu % 3));
}
