// The files help/*.txt, embedded by help/embed_help.py; HelpText reads them.
#ifndef COUNTRACE_CLI_PROGRAM_HELP_TEXTS_H_
#define COUNTRACE_CLI_PROGRAM_HELP_TEXTS_H_

namespace countrace::cli {

extern const char kAnnotateHelp[];
extern const char kDiffHelp[];
extern const char kDoctorHelp[];
extern const char kExportHelp[];
extern const char kLoadHelp[];
extern const char kHelpHelp[];
extern const char kHooksHelp[];
extern const char kImportHelp[];
extern const char kInfoHelp[];
extern const char kListHelp[];
extern const char kRecordHelp[];
extern const char kRecoverHelp[];
extern const char kReportHelp[];
extern const char kScriptHelp[];
extern const char kSnapshotHelp[];
extern const char kStatHelp[];
extern const char kQueryHelp[];
extern const char kStateHelp[];
extern const char kVerifyHelp[];
extern const char kVersionHelp[];
extern const char kViewHelp[];
extern const char kReplayHelp[];
// Texts that belong to no verb: `countrace help`, `countrace help trace`.
extern const char kOverviewHelp[];
extern const char kTraceHelp[];

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_HELP_TEXTS_H_
