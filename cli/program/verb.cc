#include "cli/program/verb.h"

#include "absl/strings/str_format.h"
#include "base/text/nearest_name.h"

namespace countrace::cli {
namespace {

const Verb* const kVerbs[] = {
    &kRecordVerb, &kSnapshotVerb, &kStatVerb,   &kReportVerb,  &kAnnotateVerb,
    &kDiffVerb,   &kQueryVerb,    &kStateVerb,  &kViewVerb,    &kReplayVerb,
    &kScriptVerb, &kInfoVerb,     &kVerifyVerb, &kRecoverVerb, &kExportVerb,
    &kLoadVerb,   &kImportVerb,   &kListVerb,   &kHooksVerb,   &kDoctorVerb,
    &kHelpVerb,   &kVersionVerb,
};

}  // namespace

const Verb* FindVerb(std::string_view name) {
  for (const Verb* const verb : kVerbs) {
    if (verb->name == name) return verb;
  }
  return nullptr;
}

std::string NoSuchVerb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb* const verb : kVerbs) names.emplace_back(verb->name);
  const std::string_view nearest = base::NearestName(name, names);
  return absl::StrFormat(
      "there is no verb `%s`%s", name,
      nearest.empty() ? "" : absl::StrFormat("; did you mean `%s`?", nearest));
}

}  // namespace countrace::cli
