// Light, dark, or the system's setting, and the palette; stored in this browser.
import {computed, signal} from '@preact/signals-core';

import {DARK, LIGHT} from './palette';

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

const SAFE_KEY = 'countrace-palette';
export const safePalette = signal(storedSafe());

function storedSafe(): boolean {
  try {
    return localStorage.getItem(SAFE_KEY) === 'safe';
  } catch {
    return false;
  }
}

// What another page of this browser stored, as the one beside this.
addEventListener('storage', () => {
  themeChoice.value = stored();
  safePalette.value = storedSafe();
});

export const theme = computed(() => {
  const dark = themeChoice.value === 'dark' ||
      (themeChoice.value === 'system' && systemDark.value);
  const usual = dark ? DARK : LIGHT;
  return safePalette.value ? {...usual, safe: true} : usual;
});

export function togglePalette(): void {
  safePalette.value = !safePalette.value;
  store(SAFE_KEY, safePalette.value ? 'safe' : 'usual');
}

export function toggleTheme(): void {
  themeChoice.value = theme.value.dark ? 'light' : 'dark';
  store(KEY, themeChoice.value);
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is off: the choice lasts for this page.
  }
}
