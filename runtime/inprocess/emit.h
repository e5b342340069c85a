// The sink hooks reach (hooks/include/countrace/hook_site.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
#define COUNTRACE_RUNTIME_INPROCESS_EMIT_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

// Without counter dumps; with one in each record; or as the hook's dump rule
// decides, each time it is asked.
enum class DumpChoice { kNever, kAlways, kAsk };
const countrace_sink* SinkFor(DumpChoice choice) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
