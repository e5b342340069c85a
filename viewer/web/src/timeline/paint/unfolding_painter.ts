// Draws what happens under the playhead: flashes, and sparks from wakers to
// those they wake.

import type {Brush} from './brush';
import {css, type Theme} from '../../core/palette';

export interface FlashMark {
  x: number;
  width: number;
  y: number;
  height: number;
  age: number; // 0: now; 1: over
}
export interface SparkMark {
  x: number;
  fromY: number;
  toY: number;
  age: number;
}

export function paintUnfolding(
    context: Brush, flashes: readonly FlashMark[], sparks: readonly SparkMark[], theme: Theme): void {
  for (const {x, width, y, height, age} of flashes) {
    context.globalAlpha = 0.7 * (1 - age);
    context.fillStyle = css(theme.background);
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1 - age;
    context.strokeStyle = css(theme.accent);
    context.lineWidth = 1.5;
    context.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
  }
  context.fillStyle = css(theme.accent);
  context.strokeStyle = css(theme.accent);
  for (const {x, fromY, toY, age} of sparks) {
    // Underway for three quarters of its time; then it glows where it arrived.
    const way = Math.min(age / 0.75, 1);
    const y = fromY + (toY - fromY) * way;
    const tail = fromY + (toY - fromY) * Math.max(way - 0.5, 0);
    context.globalAlpha = age < 0.75 ? 1 : (1 - age) / 0.25;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, tail);
    context.lineTo(x, y);
    context.stroke();
    context.beginPath();
    context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}
