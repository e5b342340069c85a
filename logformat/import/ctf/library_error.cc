#include "logformat/import/ctf/library_error.h"

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"

namespace countrace::importer {

namespace {

// The library's report on its last failure: the deepest cause, which names file
// and place, and the component that reported it.
std::string TakeError() {
  const bt_error* error = bt_current_thread_take_error();
  if (error == nullptr) return "libbabeltrace2 gives no reason";
  std::string text;
  const std::uint64_t causes = bt_error_get_cause_count(error);
  // The first cause is the deepest. The library adds addresses of its objects,
  // which are dropped.
  for (std::uint64_t i = 0; i < causes; ++i) {
    const std::string_view message =
        bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, i));
    if (text.empty() || message.find("-addr=") == message.npos) {
      text = message;
      if (message.find("-addr=") == message.npos) break;
    }
  }
  bt_error_release(error);
  if (text.size() > 1000) text = text.substr(0, 1000) + "...";
  return text;
}

}  // namespace

absl::Status LibraryError(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: %s", what, TakeError()));
}

}  // namespace countrace::importer
