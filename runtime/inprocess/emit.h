// The sink hooks reach (hooks/include/countrace/hook_site.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
#define COUNTRACE_RUNTIME_INPROCESS_EMIT_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

// The one for this session: with counter dumps if it has thread events.
const countrace_sink* SinkForSession() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_EMIT_H_
