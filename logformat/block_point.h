// The kernel's points of block requests: rmap sums the bytes of their records
// by device, so they have these values and no others.
#ifndef COUNTRACE_LOGFORMAT_BLOCK_POINT_H_
#define COUNTRACE_LOGFORMAT_BLOCK_POINT_H_

#include <string>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::logformat {

inline bool IsBlockPoint(const HookInfo& hook) {
  return hook.origin == HookOrigin::kKernel &&
         hook.payload_names ==
             std::vector<std::string>{"sector", "bytes", "device"} &&
         hook.payload == std::vector<PayloadType>{PayloadType::kUnsigned,
                                                  PayloadType::kUnsigned,
                                                  PayloadType::kString};
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_BLOCK_POINT_H_
