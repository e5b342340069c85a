// Diagonals: a hue alone would not do. One pattern for each colour, for one
// brush.

import type {Brush} from './brush';
import {css, type Rgb} from '../../core/palette';

export class Hatches {
  private readonly patterns = new Map<number, CanvasPattern|null>();

  fillRect(
      context: Brush, colour: Rgb, alpha: number,
      left: number, top: number, right: number, height: number): void {
    if (right <= left) return;
    const name = ((colour.r * 256 + colour.g) * 256 + colour.b) * 100 + Math.round(alpha * 100);
    let pattern = this.patterns.get(name);
    if (pattern === undefined) {
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 6;
      const brush = canvas.getContext('2d');
      if (brush) {
        brush.strokeStyle = css(colour);
        brush.globalAlpha = alpha;
        brush.lineWidth = 1.5;
        brush.beginPath();
        for (const shift of [-6, 0, 6]) {
          brush.moveTo(shift, 6);
          brush.lineTo(shift + 6, 0);
        }
        brush.stroke();
      }
      pattern = context.createPattern(canvas, 'repeat');
      this.patterns.set(name, pattern);
    }
    if (!pattern) return;
    context.fillStyle = pattern;
    context.fillRect(left, top, right - left, height);
  }
}
