// Any bytes as an event file: a message with the place, or events that can be
// found again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

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
  const auto vocabulary = ParseVocabulary(
      std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (vocabulary.ok()) {
    CheckVocabulary(*vocabulary);
  } else {
    CheckPlace(vocabulary.status());
  }
  return 0;
}
