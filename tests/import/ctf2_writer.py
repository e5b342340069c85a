"""The metadata of CtfTrace's traces as CTF 2 (JSON), whose packets are the same:
as CTF2-SPEC-2.0 spells it, or as drafts of it did (draft=True).
"""
import json

from ctf_writer import (Array, Enum, Float, Int, Sequence, String, Struct, Text,
                        Variant)

ROLES = {'content_size': 'packet-content-length',
         'packet_size': 'packet-total-length',
         'packet_seq_num': 'packet-sequence-number',
         'events_discarded': 'discarded-event-record-counter-snapshot',
         'timestamp_begin': 'default-clock-timestamp',
         'timestamp_end': 'packet-end-default-clock-timestamp'}


class Ctf2:
    def __init__(self, trace, draft=False):
        self.trace, self.draft = trace, draft
        self.fragments = []

    def name(self, tsdl):
        """CTF 1.8's names have an underscore in front that is not shown."""
        return tsdl.removeprefix('_')

    def location(self, origin, name):
        name = self.name(name)
        if self.draft:
            return [origin, name]
        # In the structure around it, or from the root.
        return {'path': [name]} if len(name) % 2 else \
            {'origin': origin, 'path': [name]}

    def integer(self, kind, labels=None, role=None):
        order = kind.order or self.trace.order
        made = {'type': 'fixed-length-' + ('signed' if kind.signed else 'unsigned')
                + ('-enumeration' if labels and self.draft else '-integer'),
                'length': kind.size, 'alignment': kind.align,
                'byte-order': 'little-endian' if order == 'le' else 'big-endian',
                'preferred-display-base': kind.base}
        if labels:
            made['mappings'] = {name: [list(ends)] for name, ends in labels.items()}
        if role:
            made['roles'] = [role]
        return made

    def of(self, kind, origin):
        if isinstance(kind, Enum):
            return self.integer(kind.container, kind.labels)
        if isinstance(kind, Int):
            return self.integer(kind)
        if isinstance(kind, Float):
            return {'type': 'fixed-length-floating-point-number',
                    'length': kind.size, 'alignment': kind.align,
                    'byte-order': 'little-endian' if self.trace.order == 'le'
                    else 'big-endian'}
        if isinstance(kind, String):
            return {'type': 'null-terminated-string'}
        if isinstance(kind, Struct):
            return self.structure(kind, origin)
        if isinstance(kind, Text):
            return {'type': 'static-length-string', 'length': kind.length}
        if isinstance(kind, Sequence):
            return {'type': 'dynamic-length-array',
                    'element-field-class': self.of(kind.element, origin),
                    'length-field-location': self.location(origin, kind.length)}
        if isinstance(kind, Array):
            return {'type': 'static-length-array', 'length': kind.length,
                    'element-field-class': self.of(kind.element, origin)}
        assert isinstance(kind, Variant)
        return {'type': 'variant',
                'selector-field-location': self.location(origin, kind.tag),
                'options': [{'name': name, 'field-class': self.of(one, origin),
                             'selector-field-ranges':
                             [list(kind.tag_type.labels[name])]}
                            for name, one in kind.options.items()]}

    def structure(self, kind, origin, roles=None):
        members = []
        for name, one in kind.fields:
            role = (roles or {}).get(name)
            of = self.integer(one, role=role) if role else self.of(one, origin)
            members.append({'name': self.name(name), 'field-class': of})
        return {'type': 'structure', 'minimum-alignment': kind.min_align,
                'member-classes': members}

    def header(self, one):
        event_id = lambda kind: {'name': 'id', 'field-class': self.integer(
            kind, role='event-record-class-id')}
        stamp = lambda kind: {'name': 'when', 'field-class': self.integer(
            kind, role='default-clock-timestamp')}
        full = [event_id(Int(32)), stamp(Int(64))]
        if one.clock is None:
            members = full[:1]
        elif one.header == 'simple':
            members = full
        else:
            tag, last, low = (Int(5, align=1), 30, Int(27, align=1)) \
                if one.header == 'compact' else (Int(16), 65534, Int(32))
            first = event_id(tag)
            options = [('compact', 0, last, [stamp(low)]),
                       ('extended', last + 1, last + 1, full)]
            members = [first, {'name': 'v', 'field-class': {
                'type': 'variant', 'selector-field-location':
                self.location('event-record-header', 'id'),
                'options': [{'name': name, 'selector-field-ranges': [[low, high]],
                             'field-class': {'type': 'structure',
                                             'member-classes': inner}}
                            for name, low, high, inner in options]}}]
        return {'type': 'structure', 'minimum-alignment': one.align,
                'member-classes': members}

    def add(self, kind, **properties):
        self.fragments.append({'type': kind} | {
            name.replace('_', '-'): value for name, value in properties.items()
            if value is not None})

    def alias(self, name, field_class):
        """CTF2-SPEC-2.0 has names for field classes, drafts did not."""
        if self.draft:
            return field_class
        self.add('field-class-alias', name=name, field_class=field_class)
        return name

    def metadata(self):
        trace = self.trace
        uuid = list(trace.uuid.bytes) if trace.uuid else None
        self.add('preamble', version=2, uuid=uuid)
        word = lambda role: self.integer(Int(32), role=role)
        members = [('magic', word('packet-magic-number')),
                   ('uuid', {'type': 'static-length-blob', 'length': 16,
                             'roles': ['metadata-stream-uuid']}),
                   ('stream', self.alias('stream-id', word('data-stream-class-id')))]
        self.add('trace-class', environment=trace.environment,
                 packet_header_field_class={
                     'type': 'structure', 'member-classes': [
                         {'name': name, 'field-class': of}
                         for name, of in members if name != 'uuid' or uuid]})
        for name, frequency, offset_s, offset, clock_uuid, absolute in trace.clocks:
            at = {'seconds': offset_s, 'cycles': offset}
            if self.draft:
                numbers = clock_uuid and list(bytes.fromhex(
                    clock_uuid.replace('-', '')))
                self.add('clock-class', name=name, frequency=frequency,
                         offset_from_origin=at, uuid=numbers)
            else:
                self.add('clock-class', id=name + ' 1', name=name,
                         frequency=frequency, offset_from_origin=at,
                         uid=clock_uuid,
                         origin='unix-epoch' if absolute else None)
        for one in trace.classes:
            clock = None if one.clock is None else \
                {'default_clock_class_name': one.clock} if self.draft else \
                {'default_clock_class_id': one.clock + ' 1'}
            self.add('data-stream-class', id=one.number, **(clock or {}),
                     event_record_header_field_class=self.alias(
                         f'header{one.number}', self.header(one)),
                     packet_context_field_class=self.structure(
                         one.packet_context(), 'packet-context', ROLES)
                     if one.has_context else None,
                     event_record_common_context_field_class=self.structure(
                         one.context, 'event-record-common-context')
                     if one.context.fields else None)
            for number, (name, fields) in one.events.items():
                self.add('event-record-class', name=name, id=number,
                         data_stream_class_id=one.number,
                         payload_field_class=self.structure(
                             fields, 'event-record-payload'))
        return self.text()

    def text(self):
        return ''.join('\x1e' + json.dumps(one, indent=None if i % 2 else 2)
                       + '\n' for i, one in enumerate(self.fragments))
