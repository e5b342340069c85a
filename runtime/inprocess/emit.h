// The sink that hooks call (hooks/include/countrace/hook_site.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
#define COUNTRACE_RUNTIME_INPROCESS_EMIT_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

// Whether a hook's records carry counter dumps: never, always, or as the hook's
// dump rule decides for each record (kAsk).
enum class DumpChoice { kNever, kAlways, kAsk };
const countrace_sink* SinkFor(DumpChoice choice) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
