#include "rmap/code/code_messages.h"

#include <algorithm>

namespace countrace::rmap {

bool NamedAddresses::IsSound() const {
  return std::all_of(
      addresses.begin(), addresses.end(), [this](const NamedAddress& one) {
        return !one.frames.empty() &&
               std::all_of(one.frames.begin(), one.frames.end(),
                           [this](const NamedAddress::Frame& frame) {
                             return std::max(frame.function, frame.file) <
                                    texts.size();
                           });
      });
}

}  // namespace countrace::rmap
