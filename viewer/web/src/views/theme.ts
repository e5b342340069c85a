// Light, dark, or the system's setting; stored in this browser.
import {computed, signal} from '@preact/signals-core';

import {DARK, LIGHT} from '../render/palette';

export type ThemeChoice = 'system'|'light'|'dark';

const KEY = 'countrace-theme';
const query = matchMedia('(prefers-color-scheme: dark)');

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system'; // storage is off
  }
}

export const themeChoice = signal<ThemeChoice>(stored());
const systemDark = signal(query.matches);
query.addEventListener('change', () => (systemDark.value = query.matches));

export const theme = computed(
    () => themeChoice.value === 'dark' ||
            (themeChoice.value === 'system' && systemDark.value) ?
        DARK :
        LIGHT);

export function toggleTheme(): void {
  themeChoice.value = theme.value.dark ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, themeChoice.value);
  } catch {
    // Storage is off: the choice lasts for this page.
  }
}
