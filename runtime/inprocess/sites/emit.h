// The sink that hooks call (hooks/include/countrace/hook_site.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_EMIT_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_EMIT_H_

#include "countrace/hook_site.h"
#include "runtime/inprocess/counters/dump_decision.h"

namespace countrace::runtime {

const countrace_sink* SinkFor(DumpChoice choice) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_EMIT_H_
