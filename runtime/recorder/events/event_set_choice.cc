#include "runtime/recorder/events/event_set_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::runtime {

bool CountTheSame(const EventSpec& a, const EventSpec& b) {
  return a.type == b.type && a.config == b.config && a.config1 == b.config1 &&
         a.config2 == b.config2 && a.exclude_user == b.exclude_user &&
         a.exclude_kernel == b.exclude_kernel;
}

namespace {

absl::Status CheckTwice(const std::vector<EventSpec>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!CountTheSame(events[i], events[j])) continue;
      return absl::InvalidArgumentError(absl::StrFormat(
          "Event given twice: \"%s\" and \"%s\" count the same; an event that "
          "counts with every set goes outside the braces",
          events[j].name, events[i].name));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const logformat::EventSets& sets) {
  const std::size_t most =
      sets.running_slot ? logformat::kMaxEvents : logformat::kMaxCounters;
  const std::size_t most_sets = sets.running_slot
                                    ? logformat::kMaxEventSets
                                    : logformat::kSessionEventSets;
  if (sets.events > most || sets.sizes.size() > most_sets) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Too many events: events=%d, at most %d; event sets=%d, at most %d",
        sets.events, most, sets.sizes.size(), most_sets));
  }
  const std::size_t room =
      logformat::kMaxCounters - (sets.rotates() && sets.running_slot ? 1 : 0);
  const std::size_t at_once = sets.always_on() + sets.largest();
  if (at_once > room) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Too many events: events=%d, at most %d in one set and always on "
        "together",
        at_once, room));
  }
  return absl::OkStatus();
}

void Store(const EventChoice& choice, logformat::SessionEvent* events,
           std::uint32_t* sizes) {
  std::transform(choice.events.begin(), choice.events.end(), events,
                 ToSessionEvent);
  std::copy(choice.set_sizes.begin(), choice.set_sizes.end(), sizes);
}

std::uint32_t EventsOf(const EventChoice& choice) {
  return static_cast<std::uint32_t>(choice.events.size());
}

std::uint32_t SetsOf(const EventChoice& choice) {
  return static_cast<std::uint32_t>(choice.set_sizes.size());
}

template <typename T>
void Append(const std::vector<T>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()),
               values.size() * sizeof(T));
}

}  // namespace

std::vector<std::string> SplitEvents(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    std::string name;
    bool in_slashes = false, in_braces = false;
    for (const char c : list + ",") {
      if (c == '/') in_slashes = !in_slashes;
      if (c == '{') in_braces = true;
      if (c == '}') in_braces = false;
      if (c != ',' || in_slashes || in_braces) {
        name += c;
      } else if (!name.empty()) {
        names.push_back(std::exchange(name, {}));
      }
    }
    // An unclosed brace, with its comma, so that the error can show it.
    if (!name.empty()) names.push_back(name.substr(0, name.size() - 1));
  }
  return names;
}

absl::StatusOr<EventChoice> ParseEventChoice(
    const std::vector<std::string>& texts, bool running_slot) {
  EventChoice choice;
  std::vector<std::vector<EventSpec>> sets;
  for (const std::string& text : texts) {
    const bool opened = text.find('{') != std::string::npos;
    if (!opened && text.find('}') == std::string::npos) {
      auto event = ParseEvent(text);
      if (!event.ok()) return event.status();
      choice.events.push_back(*std::move(event));
      continue;
    }
    if (text.front() != '{' || text.back() != '}' ||
        text.find_first_of("{}", 1) != text.size() - 1) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "\"%s\" is no event set: one is written {a,b}, without braces inside",
          text));
    }
    std::vector<EventSpec>& set = sets.emplace_back();
    for (const std::string& name :
         SplitEvents({text.substr(1, text.size() - 2)})) {
      auto event = ParseEvent(name);
      if (!event.ok()) return event.status();
      set.push_back(*std::move(event));
    }
    if (set.empty()) {
      return absl::InvalidArgumentError("An event set {} has no events");
    }
  }
  for (std::vector<EventSpec>& set : sets) {
    if (sets.size() > 1 &&
        std::any_of(set.begin(), set.end(), [](const EventSpec& event) {
          return event.is_exec_runtime();
        })) {
      return absl::InvalidArgumentError(
          "exec-runtime is always counted: write it outside the braces");
    }
    if (sets.size() > 1) choice.set_sizes.push_back(set.size());
    std::move(set.begin(), set.end(), std::back_inserter(choice.events));
  }
  absl::Status status = CheckRoom(choice.sets(running_slot));
  status.Update(CheckTwice(choice.events));
  if (!status.ok()) return status;
  return choice;
}

EventChoice Keep(const EventChoice& choice, const std::vector<bool>& keep) {
  EventChoice kept;
  const logformat::EventSets sets = choice.sets(false);
  kept.set_sizes.assign(choice.set_sizes.size(), 0);
  for (std::size_t i = 0; i < choice.events.size(); ++i) {
    if (!keep[i]) continue;
    kept.events.push_back(choice.events[i]);
    if (const auto set = sets.SetOf(i)) ++kept.set_sizes[*set];
  }
  kept.set_sizes.erase(
      std::remove(kept.set_sizes.begin(), kept.set_sizes.end(), 0u),
      kept.set_sizes.end());
  if (kept.set_sizes.size() == 1) kept.set_sizes.clear();
  return kept;
}

std::string NamesOf(const EventChoice& choice, std::size_t set) {
  std::vector<std::string> names;
  for (const EventSpec& event : choice.events) names.push_back(event.name);
  return logformat::SetText(choice.sets(false), set, names);
}

std::string StoreCpuEvents(const EventChoice& choice,
                           logformat::SessionControl& control) {
  control.cpu_event_count = EventsOf(choice);
  control.cpu_set_count = SetsOf(choice);
  std::string bytes;
  if (!logformat::AreMany(choice.events.size(), choice.set_sizes.size())) {
    Store(choice, control.cpu_events, control.cpu_set_sizes);
    return bytes;
  }
  std::vector<logformat::SessionEvent> events(choice.events.size());
  std::vector<std::uint32_t> sizes(choice.set_sizes.size());
  Store(choice, events.data(), sizes.data());
  Append(events, bytes);
  Append(sizes, bytes);
  return bytes;
}

void StoreThreadEvents(const EventChoice& choice,
                       logformat::SessionControl& control) {
  control.thread_event_count = EventsOf(choice);
  control.thread_set_count = SetsOf(choice);
  Store(choice, control.thread_events, control.thread_set_sizes);
}

}  // namespace countrace::runtime
