// Writes down as SVG what is painted. Rectangles, lines and texts stay such;
// pictures of columns are embedded as they are on screen, a pixel for a pixel.

import type {Brush} from './brush';

interface State {
  alpha: number;
  lineDash: string;
  clips: number; // open groups that clip
}

const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ENTITIES: Partial<Record<string, string>> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};

export function escapeXml(text: string): string {
  return text.replace(UNSAFE, '\ufffd').replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);
}

const number = (value: number): string => String(Math.round(value * 1000) / 1000);

// "rgb(1 2 3)", which not all readers of SVG know, as "#010203".
function hex(colour: string): string {
  const parts = /^rgb\((\d+) (\d+) (\d+)\)$/.exec(colour);
  return parts ? `#${parts.slice(1).map((part) => Number(part).toString(16).padStart(2, '0')).join('')}` : colour;
}

// "600 11px A, B" as attributes: a page's policy may forbid styles.
export function fontAttributes(font: string): string {
  const [, weight, size, family] = /^(?:(\d+) )?(\d+)px (.+)$/.exec(font) ?? [];
  return `${weight ? ` font-weight="${weight}"` : ''} font-size="${size ?? 10}" font-family="${escapeXml(family ?? 'sans-serif')}"`;
}

function newContext(width: number, height: number): CanvasRenderingContext2D {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, width);
  canvas.height = Math.max(1, height);
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (!context) throw new Error('the browser has no more memory for pictures');
  return context;
}

export class SvgBrush implements Brush {
  fillStyle: string|CanvasGradient|CanvasPattern = '#000';
  strokeStyle: string|CanvasGradient|CanvasPattern = '#000';
  lineWidth = 1;
  lineJoin: CanvasLineJoin = 'miter';
  globalAlpha = 1;
  font = '10px sans-serif';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  imageSmoothingEnabled = true;

  private readonly parts: string[] = [];
  private readonly clips = new Map<string, number>(); // by path
  private readonly patterns = new Map<CanvasPattern, string>();
  private readonly states: State[] = [];
  private path = '';
  private lineDash = '';
  private openClips = 0;
  // For what only a canvas has: widths of texts, patterns.
  private readonly scratch = newContext(1, 1);

  // `ratio`: device pixels of the screen for each unit.
  constructor(private readonly ratio: number) {}

  // A picture of what was painted.
  document(width: number, height: number): string {
    const defs = [
      ...[...this.clips].map(([path, id]) => `<clipPath id="c${id}"><path d="${path}"/></clipPath>`),
      ...this.patterns.values(),
    ];
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${number(width)}" height="${number(height)}" ` +
        `viewBox="0 0 ${number(width)} ${number(height)}">\n<defs>${defs.join('\n')}</defs>\n${this.parts.join('\n')}\n</svg>\n`;
  }

  // What is painted until close() lies in a window, which cuts it.
  openWindow(x: number, y: number, width: number, height: number): void {
    this.reset();
    this.parts.push(`<svg x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}">`);
  }
  closeWindow(): void {
    this.reset();
    this.parts.push('</svg>');
  }
  beginGroup(name: string): void {
    this.parts.push(`<g class="row"><title>${escapeXml(name)}</title>`);
  }
  endGroup(): void {
    this.parts.push('</g>');
  }
  private reset(): void {
    this.closeClips(0);
    this.states.length = 0;
    this.globalAlpha = 1;
    this.lineDash = '';
  }

  // A unit is a CSS pixel, whatever the screen has.
  setTransform(): void {}
  clearRect(): void {}

  save(): void {
    this.states.push({alpha: this.globalAlpha, lineDash: this.lineDash, clips: this.openClips});
  }
  restore(): void {
    const state = this.states.pop();
    if (!state) return;
    this.closeClips(state.clips);
    this.globalAlpha = state.alpha;
    this.lineDash = state.lineDash;
  }
  private closeClips(left: number): void {
    for (; this.openClips > left; --this.openClips) this.parts.push('</g>');
  }

  beginPath(): void {
    this.path = '';
  }
  closePath(): void {
    this.path += 'Z';
  }
  moveTo(x: number, y: number): void {
    this.path += `M${number(x)} ${number(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `L${number(x)} ${number(y)}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${number(x)} ${number(y)}h${number(width)}v${number(height)}h${number(-width)}Z`;
  }
  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const r = Math.max(0, Math.min(radius, width / 2, height / 2));
    const turn = (dx: number, dy: number): string => `a${number(r)} ${number(r)} 0 0 1 ${number(dx)} ${number(dy)}`;
    this.path += `M${number(x + r)} ${number(y)}h${number(width - 2 * r)}${turn(r, r)}v${number(height - 2 * r)}${turn(-r, r)}` +
        `h${number(2 * r - width)}${turn(-r, -r)}v${number(2 * r - height)}${turn(r, -r)}Z`;
  }
  // Whole circles only: nothing else is painted.
  arc(x: number, y: number, radius: number): void {
    const half = (dx: number): string => `a${number(radius)} ${number(radius)} 0 1 1 ${number(dx)} 0`;
    this.path += `M${number(x - radius)} ${number(y)}${half(2 * radius)}${half(-2 * radius)}Z`;
  }
  setLineDash(lengths: number[]): void {
    this.lineDash = lengths.map(number).join(' ');
  }

  fill(): void {
    this.add(`path d="${this.path}"`, this.filled());
  }
  stroke(): void {
    this.add(`path d="${this.path}"`, this.stroked());
  }
  clip(): void {
    const id = this.clips.get(this.path) ?? this.clips.size;
    this.clips.set(this.path, id);
    this.parts.push(`<g clip-path="url(#c${id})">`);
    ++this.openClips;
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    this.add(`rect ${this.box(x, y, width, height)}`, this.filled());
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add(`rect ${this.box(x, y, width, height)}`, this.stroked());
  }

  fillText(text: string, x: number, y: number): void {
    // Readers of SVG differ in the middle of a line, not in where letters stand.
    const shift = this.ascent('alphabetic') - this.ascent(this.textBaseline);
    this.parts.push(`<text x="${number(x)}" y="${number(y + shift)}"${fontAttributes(this.font)}${this.filled()} ` +
                    `xml:space="preserve">${escapeXml(text)}</text>`);
  }
  private ascent(baseline: CanvasTextBaseline): number {
    this.scratch.font = this.font;
    this.scratch.textBaseline = baseline;
    return this.scratch.measureText('x').fontBoundingBoxAscent;
  }
  measureText(text: string): TextMetrics {
    this.scratch.font = this.font;
    return this.scratch.measureText(text);
  }

  createPattern(image: HTMLCanvasElement, repetition: 'repeat'): CanvasPattern|null {
    const pattern = this.scratch.createPattern(image, repetition);
    const {width, height} = image;
    if (pattern) {
      this.patterns.set(
          pattern, `<pattern id="p${this.patterns.size}" width="${width}" height="${height}" patternUnits="userSpaceOnUse">` +
              `<image width="${width}" height="${height}" href="${image.toDataURL()}"/></pattern>`);
    }
    return pattern;
  }
  drawImage(
      image: HTMLCanvasElement, sx: number, sy: number, sw: number, sh: number,
      x: number, y: number, width: number, height: number): void {
    const pixels = newContext(Math.round(width * this.ratio), Math.round(height * this.ratio));
    pixels.imageSmoothingEnabled = this.imageSmoothingEnabled;
    pixels.drawImage(image, sx, sy, sw, sh, 0, 0, pixels.canvas.width, pixels.canvas.height);
    const alpha = this.globalAlpha === 1 ? '' : ` opacity="${number(this.globalAlpha)}"`;
    this.add(`image ${this.box(x, y, width, height)} preserveAspectRatio="none" image-rendering="pixelated"`,
             `${alpha} href="${pixels.canvas.toDataURL()}"`);
  }

  private box(x: number, y: number, width: number, height: number): string {
    return `x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"`;
  }
  private add(what: string, how: string): void {
    this.parts.push(`<${what}${how}/>`);
  }
  private paint(style: string|CanvasGradient|CanvasPattern): string {
    if (typeof style === 'string') return hex(style);
    const id = [...this.patterns.keys()].indexOf(style as CanvasPattern);
    return id < 0 ? 'none' : `url(#p${id})`;
  }
  private filled(): string {
    const alpha = this.globalAlpha === 1 ? '' : ` fill-opacity="${number(this.globalAlpha)}"`;
    return ` fill="${this.paint(this.fillStyle)}"${alpha}`;
  }
  private stroked(): string {
    const alpha = this.globalAlpha === 1 ? '' : ` stroke-opacity="${number(this.globalAlpha)}"`;
    const dash = this.lineDash === '' ? '' : ` stroke-dasharray="${this.lineDash}"`;
    const join = this.lineJoin === 'miter' ? '' : ` stroke-linejoin="${this.lineJoin}"`;
    return ` fill="none" stroke="${this.paint(this.strokeStyle)}" stroke-width="${number(this.lineWidth)}"${alpha}${dash}${join}`;
  }
}
