#include "rmap/tables/tables.h"

namespace countrace::rmap {

const char* WakerKindName(WakerKind kind) {
  switch (kind) {
    case WakerKind::kThread:
      return "thread";
    case WakerKind::kInterrupt:
      return "interrupt";
    case WakerKind::kIdle:
      return "idle";
    case WakerKind::kOutside:
      return "outside";
    case WakerKind::kNotTold:
      return "not_told";
    case WakerKind::kStillBlocked:
      return "still_blocked";
    case WakerKind::kOther:
      return "other";
  }
  return "unknown";
}

}  // namespace countrace::rmap
