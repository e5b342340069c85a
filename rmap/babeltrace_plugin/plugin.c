/* The entry for libbabeltrace2: one plug-in, `countrace`, and its component
 * classes.
 */
#include "rmap/babeltrace_plugin/components.h"

BT_PLUGIN_MODULE();

BT_PLUGIN(countrace);
BT_PLUGIN_DESCRIPTION("Where did the counts go? Reports of any CTF trace");
BT_PLUGIN_LICENSE("MIT");
BT_PLUGIN_VERSION(COUNTRACE_MAJOR, COUNTRACE_MINOR, COUNTRACE_PATCH, NULL);

BT_PLUGIN_SOURCE_COMPONENT_CLASS(recover, countrace_recover_next);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_INITIALIZE_METHOD(
    recover, countrace_recover_initialize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_FINALIZE_METHOD(recover,
                                                 countrace_recover_finalize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_QUERY_METHOD(recover, countrace_recover_query);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD(
    recover, countrace_recover_iterator_initialize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_FINALIZE_METHOD(
    recover, countrace_recover_iterator_finalize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHODS(
    recover, countrace_recover_seek_beginning,
    countrace_recover_can_seek_beginning);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_DESCRIPTION(
    recover, "Read countrace traces whose recorder died");
BT_PLUGIN_SOURCE_COMPONENT_CLASS_HELP(
    recover,
    "The traces stay as they are: a copy is recovered, in TMPDIR.\n"
    "\n"
    "Parameter:\n"
    "\n"
    "  inputs=[\"DIRECTORY\", ...]  the traces\n"
    "\n"
    "babeltrace2 finds such traces by itself: `babeltrace2 web.ctf`.");

BT_PLUGIN_FILTER_COMPONENT_CLASS(rmap, countrace_rmap_next);
BT_PLUGIN_FILTER_COMPONENT_CLASS_INITIALIZE_METHOD(rmap,
                                                   countrace_rmap_initialize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_FINALIZE_METHOD(rmap, countrace_rmap_finalize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD(
    rmap, countrace_rmap_iterator_initialize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_FINALIZE_METHOD(
    rmap, countrace_rmap_iterator_finalize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHODS(
    rmap, countrace_rmap_seek_beginning, countrace_rmap_can_seek_beginning);
BT_PLUGIN_FILTER_COMPONENT_CLASS_DESCRIPTION(
    rmap, "Add each dispatch and each call of a segment, with its counts");
BT_PLUGIN_FILTER_COMPONENT_CLASS_HELP(
    rmap,
    "Hands on all messages, and adds a stream of events, each at the time of "
    "its end:\n"
    "\n"
    "  countrace_rmap:dispatch  a thread on a CPU, from switch-in to "
    "switch-out\n"
    "  countrace_rmap:segment   a call of a segment\n"
    "\n"
    "Their sums are the tables of `countrace report`.\n"
    "\n"
    "Parameter, optional:\n"
    "\n"
    "  map=\"FILE\"  mapping file: which events are segments, points, "
    "counters");

BT_PLUGIN_SINK_COMPONENT_CLASS(report, countrace_report_consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(report,
                                                 countrace_report_initialize);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(report,
                                               countrace_report_finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(
    report, countrace_report_graph_is_configured);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(
    report, "Print the tables of `countrace report`");
BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(
    report,
    "Reads all messages, then prints who used what: processes, segments, books "
    "that balance.\n"
    "\n"
    "Parameters, all optional:\n"
    "\n"
    "  by=\"TABLE\"      one table: process, thread, segment, path, cpu, hook, "
    "waker,\n"
    "                  preemptor, syscall\n"
    "  format=\"FORMAT\" text (default), json, jsonl, csv\n"
    "  rows=N          rows of each text table, 0 = all (default 20)\n"
    "  map=\"FILE\"      mapping file: which events are segments, points, "
    "counters\n"
    "  output=\"FILE\"   instead of standard output\n"
    "\n"
    "`countrace help report` and `countrace help import` say more.");
