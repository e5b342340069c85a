/* The payload of a hook as text (format: hook_tracepoints.h) and as integers.
 * Async-signal-safe: no allocation, no lock; uses the C locale's format in
 * every locale.
 */
#ifndef COUNTRACE_HOOKS_LTTNG_PAYLOAD_TEXT_H_
#define COUNTRACE_HOOKS_LTTNG_PAYLOAD_TEXT_H_

#include <stdint.h>

#include "countrace/hook_site.h"

#define COUNTRACE_PAYLOAD_TEXT_BYTES 1024

#ifdef __cplusplus
extern "C" {
#endif

/* `text` receives "(VALUE, ...)" and a NUL, cut with "..." if it is too long.
 */
void countrace_payload_text(const struct countrace_hook_site* site,
                            const struct countrace_value* values,
                            char text[COUNTRACE_PAYLOAD_TEXT_BYTES]);

void countrace_payload_integers(const struct countrace_hook_site* site,
                                const struct countrace_value* values,
                                int64_t integers[COUNTRACE_MAX_PAYLOAD_VALUES]);

#ifdef __cplusplus
}
#endif

#endif /* COUNTRACE_HOOKS_LTTNG_PAYLOAD_TEXT_H_ */
