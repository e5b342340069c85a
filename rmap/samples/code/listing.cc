#include "rmap/samples/code/listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/name_escape.h"
#include "rmap/samples/code/source_text.h"

namespace countrace::rmap {
namespace {

ListedFile FileOf(const std::string& text) {
  ListedFile file{.is_here = true, .lines = absl::StrSplit(text, '\n')};
  if (!file.lines.empty() && file.lines.back().empty()) file.lines.pop_back();
  return file;
}

bool IsNewer(const std::string& path, const std::string& other) {
  struct stat one, two;
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 &&
         (one.st_mtim.tv_sec > two.st_mtim.tv_sec ||
          (one.st_mtim.tv_sec == two.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec > two.st_mtim.tv_nsec));
}

// The names are of debug information: they count only if it is that of the
// program that ran, and for what its user may read.
ListedFile ReadSource(const std::string& path, const ListingRequest& request,
                      std::optional<std::uint32_t> owner, Listing& listing) {
  const std::string name = base::EscapeName(path);
  if (request.sources != nullptr) {
    if (const auto text = request.sources(path)) return FileOf(*text);
  }
  if (!owner) {
    listing.notes.push_back(absl::StrFormat(
        "%s has no text: %s was not read at its own place; --source names the "
        "folder of its sources",
        name, base::EscapeName(listing.annotation.dso.path)));
    return {};
  }
  const auto text = SourceText(path, *owner);
  if (absl::IsNotFound(text.status())) {
    listing.notes.push_back(absl::StrFormat(
        "%s is not here: its lines have numbers, but no text", name));
  } else if (!text.ok()) {
    listing.notes.push_back(absl::StrFormat(
        "%s has no text: %s (read for user %d, whose program names it)", name,
        text.status().message(), *owner));
  } else if (IsNewer(path, listing.annotation.dso.path)) {
    listing.notes.push_back(absl::StrFormat(
        "%s was changed after %s was built: its lines may be others", name,
        base::EscapeName(listing.annotation.dso.path)));
  }
  return text.ok() ? FileOf(*text) : ListedFile();
}

void ReadSources(const ListingRequest& request,
                 std::optional<std::uint32_t> owner, Listing& listing) {
  for (const AnnotatedLine& line : listing.annotation.lines) {
    if (line.file.empty() || listing.sources.contains(line.file)) continue;
    listing.sources.emplace(line.file,
                            ReadSource(line.file, request, owner, listing));
  }
}

void ListInstructions(Symbolizer& symbolizer, Listing& listing) {
  const Annotation& annotation = listing.annotation;
  if (annotation.ranges.empty()) {
    listing.notes.push_back(
        absl::StrFormat("no instructions: %s is no file with symbols here",
                        base::EscapeName(annotation.dso.path)));
    return;
  }
  for (const CodeRange& range : annotation.ranges) {
    auto instructions = symbolizer.InstructionsOf(annotation.dso, range);
    if (!instructions.ok()) {
      listing.disassembler = instructions.status();
      listing.instructions.clear();
      return;
    }
    for (Instruction& one : *instructions) {
      auto names = symbolizer.NamesAt(annotation.dso, one.address);
      // A function that it is inlined into has other code, too.
      if (std::none_of(names.begin(), names.end(), [&](const CodeName& name) {
            return name.function == annotation.function;
          })) {
        continue;
      }
      listing.instructions.push_back(
          {std::move(one), std::move(names.front())});
    }
  }
}

}  // namespace

absl::StatusOr<Listing> MakeListing(const Samples& samples,
                                    const ListingRequest& request) {
  Symbolizer symbolizer;
  auto annotation = Annotate(samples, request.annotation, symbolizer);
  if (!annotation.ok()) return annotation.status();
  Listing listing;
  for (const SampledEvent& event : samples.events) {
    listing.events.push_back(event.name);
  }
  listing.annotation = *std::move(annotation);
  if (request.lines) {
    ReadSources(request, symbolizer.OwnerOf(listing.annotation.dso), listing);
  }
  if (request.instructions) ListInstructions(symbolizer, listing);
  if (!request.lines) listing.annotation.lines.clear();
  return listing;
}

std::map<std::string, std::set<std::uint32_t>> ListedLines(
    const Listing& listing, bool all) {
  std::map<std::string, std::set<std::uint32_t>> lines;
  for (const AnnotatedLine& line : listing.annotation.lines) {
    lines[line.file].insert(line.line);
  }
  if (!all) return lines;
  for (const ListedInstruction& one : listing.instructions) {
    const CodeName& name = one.innermost;
    if (name.function == listing.annotation.function && name.line != 0) {
      lines[name.file].insert(name.line);
    }
  }
  return lines;
}

std::optional<std::string> LineText(const Listing& listing,
                                    const std::string& file,
                                    std::uint32_t line) {
  const auto found = listing.sources.find(file);
  if (found == listing.sources.end() || line == 0 ||
      line > found->second.lines.size()) {
    return std::nullopt;
  }
  return found->second.lines[line - 1];
}

}  // namespace countrace::rmap
