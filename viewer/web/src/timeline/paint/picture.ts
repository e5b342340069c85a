// A picture of the timeline as it is on screen: labels, rows and what lies above
// them; as pixels, or as SVG.

import type {Brush} from './brush';
import {css, type Theme} from '../../core/palette';
import {SvgBrush} from './svg_brush';

export interface PictureLabel {
  text: string;
  detail: string;
  y: number;
  height: number;
}
interface Frame {
  title: string; // of the trace, and the instant
  gutter: number; // px of the labels
  ratio: number;
  theme: Theme;
  labels: readonly PictureLabel[];
}
export interface PictureScene extends Frame {
  ruler: HTMLCanvasElement;
  layers: readonly HTMLCanvasElement[]; // of one size
}
export interface DrawingScene extends Frame {
  width: number; // px of the rows, without their labels
  height: number;
  rulerHeight: number;
  paintRuler: (brush: Brush) => void;
  paintRows: (brush: Brush) => void; // and what lies above them
}

const TITLE_PX = 24;
const FONT = '11px "DejaVu Sans", sans-serif';

export function paintPicture(scene: PictureScene): HTMLCanvasElement {
  const {gutter, ratio, theme, ruler, layers} = scene;
  const [first] = layers;
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(gutter * ratio) + (first?.width ?? 0);
  canvas.height = Math.round(TITLE_PX * ratio) + ruler.height + (first?.height ?? 0);
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, canvas.width, canvas.height);
  const left = Math.round(gutter * ratio);
  const top = Math.round(TITLE_PX * ratio) + ruler.height;
  context.drawImage(ruler, left, Math.round(TITLE_PX * ratio));
  for (const layer of layers) context.drawImage(layer, left, top);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintLabels(context, scene, top / ratio, canvas.height / ratio);
  return canvas;
}

export function drawPicture(scene: DrawingScene): string {
  const {gutter, ratio, theme, width, height, rulerHeight} = scene;
  const brush = new SvgBrush(ratio);
  const top = TITLE_PX + rulerHeight;
  brush.fillStyle = css(theme.background);
  brush.fillRect(0, 0, gutter + width, top + height);
  brush.openWindow(gutter, TITLE_PX, width, rulerHeight);
  scene.paintRuler(brush);
  brush.closeWindow();
  brush.openWindow(gutter, top, width, height);
  scene.paintRows(brush);
  brush.closeWindow();
  brush.openWindow(0, 0, gutter + width, top + height);
  paintLabels(brush, scene, top, top + height);
  brush.closeWindow();
  return brush.document(gutter + width, top + height);
}

function paintLabels(context: Brush, {gutter, theme, title, labels}: Frame, top: number, bottom: number): void {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = css(theme.ink);
  context.fillText(title, 8, TITLE_PX / 2);
  context.beginPath();
  context.rect(0, top, gutter - 4, bottom);
  context.clip();
  for (const {text, detail, y, height} of labels) {
    const middle = top + y + Math.min(height / 2, 12);
    context.fillStyle = css(theme.ink);
    context.fillText(text, 8, middle);
    if (detail === '' || height < 30) continue;
    context.fillStyle = css(theme.muted);
    context.fillText(detail, 8, middle + 14);
  }
}
