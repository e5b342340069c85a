/* The methods of the plug-in's component classes, as plugin.c registers them.
 * C, because the library's registration macros are.
 */
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_COMPONENTS_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_COMPONENTS_H_

#include <babeltrace2/babeltrace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sink.countrace.report: report_sink.cc */
bt_component_class_initialize_method_status countrace_report_initialize(
    bt_self_component_sink* self, bt_self_component_sink_configuration* unused,
    const bt_value* params, void* data);
void countrace_report_finalize(bt_self_component_sink* self);
bt_component_class_sink_graph_is_configured_method_status
countrace_report_graph_is_configured(bt_self_component_sink* self);
bt_component_class_sink_consume_method_status countrace_report_consume(
    bt_self_component_sink* self);

/* source.countrace.recover: recover_source.cc */
bt_component_class_initialize_method_status countrace_recover_initialize(
    bt_self_component_source* self,
    bt_self_component_source_configuration* unused, const bt_value* params,
    void* data);
void countrace_recover_finalize(bt_self_component_source* self);
bt_component_class_query_method_status countrace_recover_query(
    bt_self_component_class_source* self, bt_private_query_executor* executor,
    const char* object, const bt_value* params, void* data,
    const bt_value** result);
bt_message_iterator_class_initialize_method_status
countrace_recover_iterator_initialize(
    bt_self_message_iterator* self,
    bt_self_message_iterator_configuration* configuration,
    bt_self_component_port_output* port);
void countrace_recover_iterator_finalize(bt_self_message_iterator* self);
bt_message_iterator_class_next_method_status countrace_recover_next(
    bt_self_message_iterator* self, bt_message_array_const messages,
    uint64_t capacity, uint64_t* count);
bt_message_iterator_class_seek_beginning_method_status
countrace_recover_seek_beginning(bt_self_message_iterator* self);
bt_message_iterator_class_can_seek_beginning_method_status
countrace_recover_can_seek_beginning(bt_self_message_iterator* self,
                                     bt_bool* can_seek);

/* filter.countrace.rmap: rmap_filter.cc */
bt_component_class_initialize_method_status countrace_rmap_initialize(
    bt_self_component_filter* self,
    bt_self_component_filter_configuration* unused, const bt_value* params,
    void* data);
void countrace_rmap_finalize(bt_self_component_filter* self);
bt_message_iterator_class_initialize_method_status
countrace_rmap_iterator_initialize(
    bt_self_message_iterator* self,
    bt_self_message_iterator_configuration* configuration,
    bt_self_component_port_output* port);
void countrace_rmap_iterator_finalize(bt_self_message_iterator* self);
bt_message_iterator_class_next_method_status countrace_rmap_next(
    bt_self_message_iterator* self, bt_message_array_const messages,
    uint64_t capacity, uint64_t* count);
bt_message_iterator_class_seek_beginning_method_status
countrace_rmap_seek_beginning(bt_self_message_iterator* self);
bt_message_iterator_class_can_seek_beginning_method_status
countrace_rmap_can_seek_beginning(bt_self_message_iterator* self,
                                  bt_bool* can_seek);

#ifdef __cplusplus
}
#endif

#endif /* COUNTRACE_RMAP_BABELTRACE_PLUGIN_COMPONENTS_H_ */
