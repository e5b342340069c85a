# fish completion of countrace. Verbs, topics and options come from its help
# texts.

function __countrace_words
    commandline -opc
end

function __countrace_verbs
    set -l words (__countrace_words)
    $words[1] help 2>/dev/null | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

function __countrace_topics
    set -l words (__countrace_words)
    set -l topics ($words[1] help $words[3] 2>/dev/null | sed -n '/^topics /,$s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p')
    if test -n "$topics"
        printf '%s\n' $topics all
    end
end

function __countrace_options
    set -l words (__countrace_words)
    $words[1] help $words[2] all 2>/dev/null | sed -n '/^options:/,/^$/s/^.\{6\}\(--[a-z-]*\).*/\1/p' | sort -u
end

function __countrace_help_has -a count
    set -l words (__countrace_words)
    test "$words[2]" = help; and test (count $words) -eq $count
end

complete -c countrace -n 'test (count (__countrace_words)) -eq 1' -f -a '(__countrace_verbs)'
complete -c countrace -n '__countrace_help_has 2' -f -a '(__countrace_verbs)'
complete -c countrace -n '__countrace_help_has 3' -f -a '(__countrace_topics)'
complete -c countrace -n 'test (count (__countrace_words)) -gt 1' -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__countrace_options)'
