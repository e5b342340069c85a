// Which USDT probes of a file are the begin and the end of a segment: pairs of
// names. `record --hook usdt:` and `list hooks` agree by it.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_SEGMENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_SEGMENTS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"

namespace countrace::runtime {

class UsdtSegments {
 public:
  // `notes`: all of one file.
  explicit UsdtSegments(const std::vector<UsdtNote>& notes);

  struct Part {
    std::string_view stem;  // of the note's name; both probes of a pair have it
    HookAttachment::Place place;
  };
  // A probe without its partner in the file is a point with its whole name, but
  // for those of our hooks (__enter, __exit): a segment may begin in one
  // library and end in another. The result refers to `note`.
  Part PartOf(const UsdtNote& note) const;

 private:
  std::set<std::string> names_;  // "provider:name"
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_USDT_SEGMENTS_H_
