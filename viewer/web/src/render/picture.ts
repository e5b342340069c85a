// A picture of the timeline as it is on screen: labels, rows and what lies above
// them.

import {css, type Theme} from './palette';

export interface PictureLabel {
  text: string;
  detail: string;
  y: number;
  height: number;
}
export interface PictureScene {
  title: string; // of the trace, and the instant
  gutter: number; // px of the labels
  ratio: number;
  theme: Theme;
  labels: readonly PictureLabel[];
  ruler: HTMLCanvasElement;
  layers: readonly HTMLCanvasElement[]; // of one size
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
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = css(theme.ink);
  context.fillText(scene.title, 8, TITLE_PX / 2);
  context.beginPath();
  context.rect(0, top / ratio, gutter - 4, canvas.height / ratio);
  context.clip();
  for (const {text, detail, y, height} of scene.labels) {
    const middle = top / ratio + y + Math.min(height / 2, 12);
    context.fillStyle = css(theme.ink);
    context.fillText(text, 8, middle);
    if (detail === '' || height < 30) continue;
    context.fillStyle = css(theme.muted);
    context.fillText(detail, 8, middle + 14);
  }
  return canvas;
}
