#define _GNU_SOURCE /* strfromd */
#include "hooks/lttng/payload_text.h"

#include <stdlib.h>
#include <string.h>

/* The log's limit of a string. */
#define MAX_STRING_BYTES 511
/* Fits sign and 20 digits of an integer, or 24 characters of "%.17g". */
#define NUMBER_BYTES 32

struct text {
  char* at;
  char* end; /* room for "...)" and a NUL behind it */
  int cut;
};

static void append(struct text* text, const char* from, size_t bytes) {
  if (text->cut || bytes > (size_t)(text->end - text->at)) {
    text->cut = 1;
    return;
  }
  memcpy(text->at, from, bytes);
  text->at += bytes;
}

static void append_unsigned(struct text* text, uint64_t value, unsigned base,
                            const char* prefix) {
  char digits[NUMBER_BYTES];
  char* first = digits + sizeof(digits);
  do {
    *--first = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  append(text, prefix, strlen(prefix));
  append(text, first, (size_t)(digits + sizeof(digits) - first));
}

static void append_double(struct text* text, double value) {
  static const char* const formats[] = {"%.15g", "%.16g", "%.17g"};
  char digits[2 * NUMBER_BYTES];
  for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); ++i) {
    strfromd(digits, sizeof(digits), formats[i], value);
    if (strtod(digits, NULL) == value) break;
  }
  /* Every other character is the locale's decimal point, which may have several
   * bytes. */
  const size_t before = strspn(digits, "+-0123456789infa");
  const size_t point = strcspn(digits + before, "0123456789e");
  append(text, digits, before);
  if (point != 0) append(text, ".", 1);
  append(text, digits + before + point, strlen(digits + before + point));
}

static void append_string(struct text* text, const struct countrace_value* v) {
  const size_t bytes =
      v->bytes < MAX_STRING_BYTES ? (size_t)v->bytes : MAX_STRING_BYTES;
  append(text, "\"", 1);
  for (size_t i = 0; i < bytes; ++i) {
    /* Another thread may write to the string meanwhile. */
    const unsigned char c = ((const volatile unsigned char*)v->as.s)[i];
    if (c == '"' || c == '\\') {
      const char escaped[] = {'\\', (char)c};
      append(text, escaped, sizeof(escaped));
    } else if (c < 0x20 || c == 0x7f) {
      const char escaped[] = {'\\', 'x', "0123456789abcdef"[c >> 4],
                              "0123456789abcdef"[c & 15]};
      append(text, escaped, sizeof(escaped));
    } else {
      append(text, (const char*)&c, 1);
    }
  }
  append(text, "\"", 1);
}

static void append_value(struct text* text, uint8_t type,
                         const struct countrace_value* v) {
  switch (type) {
    case COUNTRACE_TYPE_INT:
      append_unsigned(text, v->as.i < 0 ? -v->as.u : v->as.u, 10,
                      v->as.i < 0 ? "-" : "");
      return;
    case COUNTRACE_TYPE_DOUBLE:
      append_double(text, v->as.d);
      return;
    case COUNTRACE_TYPE_STRING:
      append_string(text, v);
      return;
    case COUNTRACE_TYPE_POINTER:
      append_unsigned(text, v->as.u, 16, "0x");
      return;
    default:
      append_unsigned(text, v->as.u, 10, "");
  }
}

void countrace_payload_text(const struct countrace_hook_site* site,
                            const struct countrace_value* values,
                            char text[COUNTRACE_PAYLOAD_TEXT_BYTES]) {
  struct text out = {text, text + COUNTRACE_PAYLOAD_TEXT_BYTES - 5, 0};
  append(&out, "(", 1);
  for (unsigned i = 0; i < site->count; ++i) {
    if (i != 0) append(&out, ", ", 2);
    append_value(&out, site->types[i], &values[i]);
  }
  memcpy(out.at, out.cut ? "...)" : ")", out.cut ? 5 : 2);
}

static int64_t integer_of(double value) {
  if (!(value > -9223372036854775808.0)) {
    return value == value ? INT64_MIN : 0; /* NaN: 0 */
  }
  return value < 9223372036854775808.0 ? (int64_t)value : INT64_MAX;
}

void countrace_payload_integers(
    const struct countrace_hook_site* site,
    const struct countrace_value* values,
    int64_t integers[COUNTRACE_MAX_PAYLOAD_VALUES]) {
  for (unsigned i = 0; i < site->count; ++i) {
    switch (site->types[i]) {
      case COUNTRACE_TYPE_DOUBLE:
        integers[i] = integer_of(values[i].as.d);
        break;
      case COUNTRACE_TYPE_STRING:
        integers[i] = (int64_t)values[i].bytes;
        break;
      default:
        integers[i] = values[i].as.i;
    }
  }
}
