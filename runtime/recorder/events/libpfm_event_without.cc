// Replaces libpfm_event.cc where libpfm4 is missing.
#include "runtime/recorder/events/libpfm_event.h"

namespace countrace::runtime {

absl::StatusOr<LibpfmEvent> FindLibpfmEvent(std::string_view) {
  return absl::UnimplementedError("this build has no libpfm4");
}

std::vector<std::string> ListLibpfmEvents() { return {}; }

}  // namespace countrace::runtime
