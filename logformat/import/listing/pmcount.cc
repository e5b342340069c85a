// pmcount of AIX (CPI analysis on POWER5, part 2, listings 1 to 3):
//
//   pmcount -kun -G 0 sleep 5
//   Processor name: POWER5
//   ...
//   Counter 1, event 190: PM_RUN_CYC
//   ...
//   [ 0] 9480159805 3627365099 ...
//   .                               (rows that are not listed)
//   [ALL] 302936012787 117749668145 ...
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "base/text/source_place.h"
#include "logformat/import/listing/listing.h"
#include "logformat/vocabularies/vocabulary.h"

namespace countrace::importer {
namespace {

constexpr std::uint64_t kMaxPmcs = 16;
// It is kept in the metadata.
constexpr std::size_t kMostAround = 64 << 10;

// The events of the processor; null: it has no shipped file.
const logformat::Vocabulary* VocabularyOf(const std::string& cpu) {
  static const auto& shipped = *[] {
    auto* const all = new std::vector<logformat::Vocabulary>;
    for (const std::string& model : logformat::ShippedModels()) {
      auto one = logformat::ParseVocabulary(logformat::ShippedVocabulary(model),
                                            model);
      if (one.ok() && !one->cpu.empty()) all->push_back(*std::move(one));
    }
    return all;
  }();
  const auto found = std::find_if(
      shipped.begin(), shipped.end(), [&](const logformat::Vocabulary& one) {
        return base::GlobMatches(one.cpu.c_str(), cpu.c_str());
      });
  return found == shipped.end() ? nullptr : &*found;
}

class Pmcount {
 public:
  Pmcount(std::string_view text, const std::string& file)
      : text_(text), file_(file) {
    listing_.tool = "pmcount";
  }

  absl::StatusOr<Listing> Parse() {
    std::string_view rest = text_;
    while (!rest.empty() || line_ == 0) {
      ++line_;
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string line(rest.substr(0, end));
      const std::size_t at = text_.size() - rest.size();
      rest.remove_prefix(std::min(rest.size(), end + 1));
      if (absl::Status status = Line(line, at, text_.size() - rest.size());
          !status.ok()) {
        return status;
      }
    }
    if (all_.empty()) return Error("there is no row [ALL] with the sums");
    if (listing_.rows.empty()) return Error("there is no row of a CPU");
    if (absl::Status sums = Sums(); !sums.ok()) return sums;
    const std::size_t around =
        text_.size() - (behind_ - first_row_) + elided_.size();
    if (around > kMostAround) {
      return Error(absl::StrFormat("%d bytes around the rows, more than %d",
                                   around, kMostAround));
    }
    listing_.text = {std::string(text_.substr(0, first_row_)),
                     std::string(elided_), std::string(text_.substr(behind_))};
    Names();
    return std::move(listing_);
  }

 private:
  absl::Status Error(const std::string& what) const {
    return base::ErrorAt({file_, line_, 1}, what);
  }

  absl::Status Line(const std::string& line, std::size_t begin,
                    std::size_t end) {
    if (line_ == 1) listing_.command = line;
    if (line_ > 1 && line.starts_with("pmcount ")) {
      return Error(
          "a second listing begins: a trace is of one; split the file");
    }
    if (line.starts_with("Processor name: ")) {
      cpu_ = line.substr(16);
    } else if (line.starts_with("Counter ")) {
      return Counter(line);
    } else if (line.starts_with('[')) {
      return Row(line, begin, end);
    } else if (!listing_.rows.empty() && all_.empty()) {
      if (absl::StripAsciiWhitespace(line) != ".") {
        return Error("wanted a row of a CPU, [ALL], or . for rows left out");
      }
      elided_ = text_.substr(elided_.empty() ? begin : elided_begin_,
                             end - (elided_.empty() ? begin : elided_begin_));
      elided_begin_ = end - elided_.size();
    } else if (const std::size_t first = line.find("MMCR1[");
               first != line.npos &&
               line.find("MMCR1[", first + 1) != line.npos) {
      listing_.not_known.push_back(
          "why MMCR1 stands twice: the first is read as its upper 32 bits");
    }
    return absl::OkStatus();
  }

  // "Counter 4, event 12: PM_CYC [shared]".
  absl::Status Counter(const std::string& line) {
    if (!listing_.rows.empty() || !all_.empty()) {
      return Error("a counter behind the rows");
    }
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    const auto number = [](const std::string& word, char after) {
      return word.empty() || word.back() != after
                 ? std::nullopt
                 : base::ParseInteger(word.substr(0, word.size() - 1));
    };
    if (words.size() < 5 || words[2] != "event" || !number(words[1], ',') ||
        !number(words[3], ':') || !logformat::IsEventWord(words[4])) {
      return Error("wanted `Counter N, event N: NAME`");
    }
    const std::uint64_t counter = *number(words[1], ',');
    const std::uint64_t next = counters_.empty() ? 1 : counters_.back() + 1;
    if (counter < next || counter > kMaxPmcs) {
      return Error(absl::StrFormat("counter %d, wanted %d to %d", counter, next,
                                   kMaxPmcs));
    }
    counters_.push_back(counter);
    listing_.events.push_back(words[4]);
    return absl::OkStatus();
  }

  absl::Status Row(const std::string& line, std::size_t begin,
                   std::size_t end) {
    if (!all_.empty()) return Error("a row behind [ALL]");
    const std::size_t close = std::min(line.find(']'), line.size() - 1);
    std::string name = line.substr(1, close - 1);
    absl::StripAsciiWhitespace(&name);
    std::vector<std::uint64_t> counts;
    for (const std::string& word : std::vector<std::string>(
             absl::StrSplit(line.substr(close + 1), ' ', absl::SkipEmpty()))) {
      const auto count = base::ParseInteger(word);
      if (!count) {
        return Error(
            absl::StrFormat("`%s` is no count", base::EscapeName(word)));
      }
      counts.push_back(*count);
    }
    if (counts.size() != listing_.events.size() || counts.empty()) {
      return Error(absl::StrFormat("%d counts, and %d counters above",
                                   counts.size(), listing_.events.size()));
    }
    if (listing_.rows.empty()) first_row_ = begin;
    behind_ = end;
    if (name == "ALL") {
      all_ = std::move(counts);
      all_line_ = line_;
      return absl::OkStatus();
    }
    if (!elided_.empty()) return Error("a row of a CPU behind rows left out");
    const auto cpu = base::ParseInteger(name);
    const std::int64_t next =
        listing_.rows.empty() ? 0 : listing_.rows.back().cpu + 1;
    if (!cpu || *cpu >= kMaxListingCpus ||
        static_cast<std::int64_t>(*cpu) < next) {
      return Error(absl::StrFormat("`%s` is no CPU from %d to %d",
                                   base::EscapeName(name), next,
                                   kMaxListingCpus - 1));
    }
    listing_.rows.push_back(
        {static_cast<std::int32_t>(*cpu), 0, std::move(counts)});
    return absl::OkStatus();
  }

  // What [ALL] has more than its rows is that of the rows left out.
  absl::Status Sums() {
    Listing::Row rest{listing_.rows.empty() ? 0 : listing_.rows.back().cpu + 1,
                      0, all_};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::uint64_t sum = 0;
      bool beyond = false;
      for (const Listing::Row& row : listing_.rows) {
        beyond |= __builtin_add_overflow(sum, row.counts[i], &sum);
      }
      if (beyond || sum > all_[i] || (elided_.empty() && sum != all_[i])) {
        line_ = all_line_;
        return Error(absl::StrFormat(
            "column PMC %d (%s) of [ALL] is %d, its rows add up to %s%d%s",
            counters_[i], listing_.events[i], all_[i], beyond ? "2^64 + " : "",
            sum,
            elided_.empty() ? "; a line with . stands for rows left out" : ""));
      }
      rest.counts[i] -= sum;
    }
    if (elided_.empty()) return absl::OkStatus();
    listing_.has_not_listed = true;
    listing_.not_known.push_back(absl::StrFormat(
        "the CPUs that are not listed: [ALL] less the rows is the process "
        "`not listed`, shown as CPU %d",
        rest.cpu));
    listing_.rows.push_back(std::move(rest));
    return absl::OkStatus();
  }

  // One spelling for each event; of two counters of one event the last has its
  // name (PMC 5 and 6 of the POWER5 are in every group).
  void Names() {
    const logformat::Vocabulary* const vocabulary = VocabularyOf(cpu_);
    std::vector<std::string>& events = listing_.events;
    for (std::size_t i = 0; vocabulary != nullptr && i < events.size(); ++i) {
      const auto found = logformat::FindEvent(*vocabulary, events[i]);
      if (found.empty() || found.front().name == events[i]) continue;
      listing_.not_known.push_back(
          absl::StrFormat("what %s of counter %d is, if not %s", events[i],
                          counters_[i], found.front().name));
      events[i] = found.front().name;
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (std::find(events.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    events.end(), events[i]) != events.end()) {
        events[i] += absl::StrFormat(".PMC%d", counters_[i]);
      }
    }
  }

  const std::string_view text_;
  const std::string& file_;
  Listing listing_;
  std::string cpu_;
  std::vector<std::uint64_t> counters_;  // the number of each event's
  std::vector<std::uint64_t> all_;
  std::string_view elided_;
  std::size_t line_ = 0, all_line_ = 0;
  std::size_t first_row_ = 0, behind_ = 0, elided_begin_ = 0;
};

}  // namespace

absl::StatusOr<Listing> ParsePmcount(std::string_view text,
                                     const std::string& file) {
  return Pmcount(text, file).Parse();
}

}  // namespace countrace::importer
