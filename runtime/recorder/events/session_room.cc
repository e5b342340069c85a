#include "runtime/recorder/events/session_room.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_join.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/events/event_set_choice.h"

namespace countrace::runtime {

FittingSets FitIntoSession(const std::vector<std::string>& words) {
  FittingSets fitting;
  std::vector<std::vector<std::string>> sets;
  for (const std::string& word : words) {
    if (word.starts_with('{')) {
      sets.push_back(SplitEvents({word.substr(1, word.size() - 2)}));
    } else {
      fitting.words.push_back(word);
    }
  }
  std::size_t events = fitting.words.size(), used = 0;
  // One value of a dump is the time of its set.
  const std::size_t room = logformat::kMaxCounters - 1 -
                           std::min(events, logformat::kMaxCounters - 1);
  for (const std::vector<std::string>& set : sets) {
    for (auto at = set.begin(); at != set.end();) {
      const auto in_set = static_cast<std::ptrdiff_t>(
          std::min({room, logformat::kMaxEvents - events,
                    static_cast<std::size_t>(set.end() - at)}));
      if (in_set == 0 || used == logformat::kMaxEventSets) {
        fitting.left_out.insert(fitting.left_out.end(), at, set.end());
        break;
      }
      fitting.words.push_back("{" + absl::StrJoin(at, at + in_set, ",") + "}");
      events += static_cast<std::size_t>(in_set);
      ++used;
      at += in_set;
    }
  }
  return fitting;
}

}  // namespace countrace::runtime
