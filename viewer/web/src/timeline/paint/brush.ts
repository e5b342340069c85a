// What painters use of a canvas. A context of a canvas is one; SvgBrush writes
// the same calls down.

export interface Brush {
  fillStyle: string|CanvasGradient|CanvasPattern;
  strokeStyle: string|CanvasGradient|CanvasPattern;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textBaseline: CanvasTextBaseline;
  imageSmoothingEnabled: boolean;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  save(): void;
  restore(): void;
  clearRect(x: number, y: number, width: number, height: number): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  roundRect(x: number, y: number, width: number, height: number, radius: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  fill(): void;
  stroke(): void;
  clip(): void;
  setLineDash(lengths: number[]): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): TextMetrics;
  createPattern(image: HTMLCanvasElement, repetition: 'repeat'): CanvasPattern|null;
  drawImage(
      image: HTMLCanvasElement, sx: number, sy: number, sw: number, sh: number,
      x: number, y: number, width: number, height: number): void;
  // What is painted between the two belongs together; a canvas ignores it.
  beginGroup?(name: string): void;
  endGroup?(): void;
}
