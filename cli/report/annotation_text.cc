#include "cli/report/annotation_text.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_columns.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::cli {
namespace {

using rmap::AnnotatedAddress;
using rmap::AnnotatedLine;
using rmap::SampledAmount;

constexpr std::uint32_t kLinesAround = 2, kInstructionsAround = 3;

bool IsOwn(const rmap::Listing& listing, const std::string& function) {
  return function == listing.annotation.function;
}

// With tabs as blanks, safe to print.
std::string Printable(const std::string& text) {
  constexpr std::size_t kTab = 8;
  std::string out;
  for (const char c : text) {
    if (c == '\t') {
      out.append(kTab - out.size() % kTab, ' ');
    } else {
      out += c;
    }
  }
  return base::EscapeLines(out);
}

std::string CutTo(std::string text, std::size_t width) {
  if (base::DisplayColumns(text) <= width) return text;
  constexpr std::size_t kDots = 3;
  std::size_t end = std::min(text.size(), width > kDots ? width - kDots : 0);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "...";
}

class TextListing {
 public:
  TextListing(const rmap::Listing& listing, std::uint32_t event, bool all,
              std::size_t width)
      : listing_(listing),
        event_(event),
        all_(all),
        width_(width),
        name_(listing.events[event]) {}

  std::string Make() {
    std::string text = absl::StrFormat(
        "%s in %s: self %s, %s of all %s\n",
        base::EscapeName(listing_.annotation.function),
        base::EscapeName(rmap::CodeFileName(listing_.annotation.dso.path)),
        rmap::SampleEstimateText(name_, listing_.annotation.self[event_]),
        rmap::SampleShareText(listing_.annotation.self[event_]), name_);
    if (!listing_.annotation.lines.empty()) {  // else not wanted
      for (const auto& [file, lines] : rmap::ListedLines(listing_, all_)) {
        text += "\n" + Source(file, lines);
      }
    }
    if (!listing_.instructions.empty()) text += "\n" + Instructions();
    return text;
  }

 private:
  static base::TextTable Table(const std::vector<const char*>& more) {
    base::TextTable table(/*indent=*/0);
    table.AddColumn("self", base::TextTable::Align::kRight);
    table.AddColumn("self of all", base::TextTable::Align::kLeft);
    for (const char* column : more) {
      table.AddColumn(column, base::TextTable::Align::kLeft);
    }
    return table;
  }
  std::vector<std::string> Amounts(const SampledAmount* amount) const {
    if (amount == nullptr || amount->hits == 0) return {"", ""};
    return {rmap::SampleEstimateText(name_, *amount),
            rmap::SampleShareText(*amount)};
  }

  std::string Source(const std::string& file,
                     const std::set<std::uint32_t>& lines) {
    std::map<std::uint32_t, const SampledAmount*> amounts;
    for (const AnnotatedLine& line : listing_.annotation.lines) {
      if (line.event == event_ && line.file == file) {
        amounts[line.line] = &line.self;
      }
    }
    std::set<std::uint32_t> shown;
    for (const std::uint32_t line : lines) {
      shown.insert(line);
      if (line == 0) continue;
      for (std::uint32_t near = line > kLinesAround ? line - kLinesAround : 1;
           near <= line + kLinesAround; ++near) {
        if (rmap::LineText(listing_, file, near)) shown.insert(near);
      }
    }
    base::TextTable table = Table({"line", "source"});
    std::uint32_t last = 0;
    for (const std::uint32_t line : shown) {
      if (last != 0 && line != last + 1) table.AddHeading("...");
      last = line;
      const auto amount = amounts.find(line);
      auto cells = Amounts(amount == amounts.end() ? nullptr : amount->second);
      cells.push_back(line == 0 ? "-" : std::to_string(line));
      cells.push_back(
          CutTo(Printable(rmap::LineText(listing_, file, line).value_or("")),
                RoomFor(60)));
      table.AddRow(std::move(cells));
    }
    return (file.empty() ? "[no lines]" : base::EscapeName(file)) + "\n" +
           table.Render(std::numeric_limits<std::size_t>::max(), false);
  }

  // What a terminal has beside about `others` columns.
  std::size_t RoomFor(std::size_t others) const {
    constexpr std::size_t kLeast = 20;
    if (width_ == std::numeric_limits<std::size_t>::max()) return width_;
    return width_ > others + kLeast ? width_ - others : kLeast;
  }

  std::string Instructions() {
    std::map<std::uint64_t, const SampledAmount*> amounts;
    for (const AnnotatedAddress& one : listing_.annotation.addresses) {
      if (one.event == event_) amounts[one.address] = &one.self;
    }
    const std::vector<rmap::ListedInstruction>& all = listing_.instructions;
    std::vector<bool> shown(all.size(), all_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!amounts.contains(all[i].instruction.address)) continue;
      const std::size_t begin =
          i > kInstructionsAround ? i - kInstructionsAround : 0;
      const std::size_t end =
          std::min<std::size_t>(all.size(), i + kInstructionsAround + 1);
      for (std::size_t near = begin; near < end; ++near) shown[near] = true;
    }
    base::TextTable table = Table({"address", "line", "instruction"});
    bool hidden = false;
    std::string last;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!shown[i]) {
        hidden = true;
        continue;
      }
      if (hidden) table.AddHeading("...");
      hidden = false;
      const rmap::CodeName& name = all[i].innermost;
      std::string place = name.line == 0 ? "" : std::to_string(name.line);
      if (!IsOwn(listing_, name.function)) {
        place += (place.empty() ? "of " : " of ") +
                 CutTo(base::EscapeName(name.function), 30);
      }
      const auto amount = amounts.find(all[i].instruction.address);
      auto cells = Amounts(amount == amounts.end() ? nullptr : amount->second);
      cells.push_back(absl::StrFormat("%x", all[i].instruction.address));
      cells.push_back(place == last ? "" : place);
      cells.push_back(CutTo(Printable(all[i].instruction.text), RoomFor(70)));
      last = std::move(place);
      table.AddRow(std::move(cells));
    }
    return "instructions (self of functions inlined here is theirs, not in the "
           "sum)\n" +
           table.Render(std::numeric_limits<std::size_t>::max(), false);
  }

  const rmap::Listing& listing_;
  const std::uint32_t event_;
  const bool all_;
  const std::size_t width_;
  const std::string& name_;
};

}  // namespace

std::string ListingText(const rmap::Listing& listing, bool all,
                        std::size_t width) {
  std::string text;
  for (std::uint32_t event = 0; event < listing.annotation.self.size();
       ++event) {
    const auto& addresses = listing.annotation.addresses;
    if (std::none_of(addresses.begin(), addresses.end(),
                     [event](const AnnotatedAddress& one) {
                       return one.event == event;
                     })) {
      continue;
    }
    if (!text.empty()) text += "\n";
    text += TextListing(listing, event, all, width).Make();
  }
  for (const std::string& note : listing.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace countrace::cli
