// Hooks that the recording could not register: what they would have recorded is
// counted, one record for each time they fire.
//
// In: a site that HookRegistry refused. Out: counts in `.session`. Thread: any;
// the hot path of other hooks is not touched.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_REFUSED_HOOKS_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_REFUSED_HOOKS_H_

#include "countrace/hook_site.h"
#include "logformat/packet_layout.h"

namespace countrace::runtime {

// The sink for `cause`, kDiskFull or kNoResource.
const countrace_sink* RefusedSink(logformat::DiscardCause cause) noexcept;
bool IsRefusedSink(const countrace_sink* sink) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_REFUSED_HOOKS_H_
