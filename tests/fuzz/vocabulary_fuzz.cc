// Any bytes as an event file, or as the three files of OProfile: a message with
// the place, or events that can be found again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/vocabularies/oprofile_files.h"
#include "logformat/vocabularies/vocabulary.h"

namespace {

using namespace countrace::logformat;  // NOLINT: the test's subject

void CheckVocabulary(const Vocabulary& vocabulary) {
  for (const VocabularyEvent& event : vocabulary.events) {
    if (!IsEventWord(event.name) || event.counters.empty()) std::abort();
  }
  const VocabularyEvent& first = vocabulary.events.front();
  if (FindEvent(vocabulary, first.name).empty()) std::abort();
}

void CheckPlace(const absl::Status& status) {
  if (status.message().find("fuzz") != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') == std::string_view::npos) {
    const auto vocabulary = ParseVocabulary(text, "fuzz");
    if (vocabulary.ok()) {
      CheckVocabulary(*vocabulary);
    } else {
      CheckPlace(vocabulary.status());
    }
    return 0;
  }
  // The files, with a byte 0 between them.
  std::vector<std::string> files(3);
  for (std::string& file : files) {
    file = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), file.size() + 1));
  }
  const auto made =
      OprofileAsVocabulary({files[0], files[1], files[2]}, "fuzz");
  if (!made.ok()) {
    CheckPlace(made.status());
    return 0;
  }
  const auto vocabulary = ParseVocabulary(*made, "made");
  if (!vocabulary.ok()) std::abort();  // what import writes is read
  CheckVocabulary(*vocabulary);
  return 0;
}
