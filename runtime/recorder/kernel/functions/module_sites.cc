#include "runtime/recorder/kernel/functions/module_sites.h"

#include <sys/klog.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/glob.h"
#include "base/text/trim.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {

std::optional<ModuleSite> ParseModuleSite(std::string format) {
  constexpr std::string_view kBegin = "print fmt: \"countrace ";
  const std::size_t at = format.find(kBegin);
  if (at == std::string::npos) return std::nullopt;
  std::string text = format.substr(at + kBegin.size());
  text = text.substr(0, text.find('"'));
  const std::vector<std::string> words =
      absl::StrSplit(text, absl::MaxSplits(' ', 3));
  if (words.size() != 4) return std::nullopt;
  ModuleSite site;
  if (words[0] == "enter") {
    site.kind = ModuleSite::Kind::kEnter;
  } else if (words[0] == "exit") {
    site.kind = ModuleSite::Kind::kExit;
  } else if (words[0] != "point") {
    return std::nullopt;
  }
  const std::size_t colon = words[1].find(':');
  if (colon == std::string::npos) return std::nullopt;
  site.provider = words[1].substr(0, colon);
  site.name = words[1].substr(colon + 1);
  site.location = words[3];
  if (words[2] != "0") site.location += ", id " + words[2];
  site.format = std::move(format);
  return site;
}

absl::StatusOr<std::vector<ModuleSite>> ReadModuleSites(
    const std::string& provider_glob) {
  const auto tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  const auto systems = tracefs->List("events");
  if (!systems.ok()) return systems.status();
  std::vector<ModuleSite> sites;
  for (const std::string& system : *systems) {
    if (!base::GlobMatches(provider_glob.c_str(), system.c_str())) continue;
    const auto events = tracefs->List("events/" + system);
    if (!events.ok()) continue;  // a file
    for (const std::string& event : *events) {
      auto format =
          tracefs->Read(absl::StrFormat("events/%s/%s/format", system, event));
      if (!format.ok()) continue;
      auto site = ParseModuleSite(*std::move(format));
      if (!site) continue;
      const auto id = tracefs->TracepointId(system, event);
      if (!id.ok()) continue;
      site->tracepoint = *id;
      sites.push_back(*std::move(site));
    }
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const ModuleSite& a, const ModuleSite& b) {
                     return std::tie(a.provider, a.name, a.kind) <
                            std::tie(b.provider, b.name, b.kind);
                   });
  return sites;
}

std::string KernelWordsAbout(const std::string& module) {
  constexpr int kReadAll = 3, kSize = 10;
  const int bytes = klogctl(kSize, nullptr, 0);
  if (bytes <= 0 || module.empty()) return "";
  std::string log(static_cast<std::size_t>(bytes), '\0');
  const int got = klogctl(kReadAll, log.data(), bytes);
  if (got <= 0) return "";
  log.resize(static_cast<std::size_t>(got));
  std::string words;
  const std::vector<std::string> lines = absl::StrSplit(log, '\n');
  for (const std::string& line : lines) {
    // "<3>[   12.345678] module: version magic ... should be ..."
    const std::size_t at = line.find("] " + module + ": ");
    if (at != std::string::npos) words = base::Trim(line.substr(at + 2));
  }
  return words;
}

}  // namespace countrace::runtime
