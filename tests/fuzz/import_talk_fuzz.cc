// Any bytes as what the import program reports, in any pieces: what is kept of
// it has bounds, and does not depend on the pieces. The first byte is the size
// of a piece.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "logformat/import/program/import_talk.h"

namespace {

using countrace::importer::ImportTalk;

ImportTalk Talk(std::string_view text, std::size_t piece) {
  ImportTalk talk;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    talk.TakeOutput(text.substr(at, piece));
    talk.TakeErrors(text.substr(at, piece));
  }
  return talk;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  const ImportTalk whole = Talk(text, std::max<std::size_t>(text.size(), 1));
  const ImportTalk pieces = Talk(text, std::size_t{data[0]} + 1);
  const std::size_t kept = std::min(text.size(), ImportTalk::kMaxErrorText);
  if (whole.first_errors != text.substr(0, kept) ||
      whole.errors != text.substr(text.size() - kept)) {
    std::abort();
  }
  if (whole.unconfined.size() > ImportTalk::kMaxErrorText) std::abort();
  if (whole.error && whole.error->ok()) std::abort();
  if (whole.error != pieces.error || whole.done != pieces.done ||
      whole.done_bytes != pieces.done_bytes ||
      whole.time_ns != pieces.time_ns ||
      whole.unconfined != pieces.unconfined ||
      whole.first_errors != pieces.first_errors ||
      whole.errors != pieces.errors) {
    std::abort();
  }
  return 0;
}
