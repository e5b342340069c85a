import {escapeXml, fontAttributes} from '../../../viewer/web/src/timeline/paint/svg_brush';

describe('svg', () => {
  test('fonts are attributes', () => {
    expect(fontAttributes('11px "A B", c')).toBe(' font-size="11" font-family="&quot;A B&quot;, c"');
    expect(fontAttributes('600 9px c')).toBe(' font-weight="600" font-size="9" font-family="c"');
  });
  test('a text cannot end its element, nor has it what XML forbids', () => {
    expect(escapeXml('</text><script>&"')).toBe('&lt;/text&gt;&lt;script&gt;&amp;&quot;');
    expect(escapeXml('a\u0000b\ud800c\udc00\uffff')).toBe('a\ufffdb\ufffdc\ufffd\ufffd');
    expect(escapeXml('\ud83d\ude00 \u00e9')).toBe('\ud83d\ude00 \u00e9');
    const every = Array.from({length: 0x10000}, (_, code) => String.fromCharCode(code)).reverse().join('');
    expect(escapeXml(every)).not.toMatch(/[<>"]|&(?!amp;|lt;|gt;|quot;)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/);
  });
});
