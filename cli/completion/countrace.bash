# bash completion of countrace. Verbs, topics and options come from its help
# texts, so they match the installed version.

_countrace() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  local prev=${COMP_WORDS[COMP_CWORD - 1]}
  local program=${COMP_WORDS[0]}
  local verb=${COMP_WORDS[1]}
  COMPREPLY=()

  if [[ $COMP_CWORD -eq 1 || ($COMP_CWORD -eq 2 && $verb == help && $cur != -*) ]]; then
    local verbs
    verbs=$("$program" help 2>/dev/null | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    if [[ $COMP_CWORD -eq 2 ]]; then verbs+=' trace'; fi
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
    return
  fi

  if [[ $COMP_CWORD -eq 3 && $verb == help && $cur != -* ]]; then
    local topics
    topics=$("$program" help "$prev" 2>/dev/null | sed -n '/^topics /,$s/^  \([a-z]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "${topics:+$topics all}" -- "$cur")
    return
  fi

  case "$prev" in
    --format)
      local formats='text json jsonl csv'
      if [[ $verb == diff ]]; then formats='text json markdown'; fi
      mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$cur")
      return
      ;;
    --threshold)
      mapfile -t COMPREPLY < <(compgen -W '5% total:elapsed' -- "$cur")
      return
      ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W 'stream discard' -- "$cur"); return ;;
    --kernel) mapfile -t COMPREPLY < <(compgen -W 'syscalls faults irq softirq block wakeups' -- "$cur"); return ;;
    --count) mapfile -t COMPREPLY < <(compgen -W 'all none user kernel marked unmarked user,marked user,unmarked kernel,marked kernel,unmarked' -- "$cur"); return ;;
    --model)
      mapfile -t COMPREPLY < <(compgen -W 'arm64 power2 power5 r10000' -- "$cur"; compgen -f -- "$cur")
      return
      ;;
    --backend) mapfile -t COMPREPLY < <(compgen -W 'auto bpf perf lttng' -- "$cur"); return ;;
    -p | --pid)
      if [[ $verb == hooks || $verb == record ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur")
        return
      fi
      ;;
    --import-limit)
      compopt -o nospace
      mapfile -t COMPREPLY < <(compgen -W 'memory= cpu= output= files= stall=' -- "$cur")
      return
      ;;
    --at) mapfile -t COMPREPLY < <(compgen -W 'begin 50% end' -- "$cur"); return ;;
    --next | --previous) mapfile -t COMPREPLY < <(compgen -W 'dispatch segment hook interrupt loss' -- "$cur"); return ;;
    --group-by) mapfile -t COMPREPLY < <(compgen -W 'process thread comm user cgroup' -- "$cur"); return ;;
    --by)
      mapfile -t COMPREPLY < <(compgen -W 'process thread segment path cpu hook waker preemptor syscall fault level user cgroup time phase function line file dso address calltree callees callers data data-page data-address data-source instruction instruction-class function,instruction' -- "$cur")
      return
      ;;
  esac

  if [[ $verb == list && $COMP_CWORD -eq 2 && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'events hooks functions probes tracepoints metrics' -- "$cur")
    return
  fi
  if [[ $verb == hooks && $COMP_CWORD -eq 2 && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'list enable disable' -- "$cur")
    return
  fi
  if [[ $verb == hooks && $prev != -* && $cur != -* ]]; then
    # Names of the process given by -p; a name is also a glob that matches
    # itself.
    local pid
    pid=$(sed -n 's/.* \(-p\|--pid\)[ =]\([0-9][0-9]*\).*/\2/p' <<<"${COMP_WORDS[*]}")
    if [[ -n $pid ]]; then
      local names
      names=$("$program" hooks list -p "$pid" --format csv 2>/dev/null | sed 1d | cut -d, -f2)
      mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
      return
    fi
  fi
  # After "--" the command of `record` is completed like any command.
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ $verb == record && ${COMP_WORDS[i]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      return
    fi
  done
  if [[ $cur == -* ]]; then
    local options
    options=$("$program" help "$verb" all 2>/dev/null |
      sed -n '/^options:/,/^$/s/^.\{6\}\(--[a-z-]*\).*/\1/p' | awk '!seen[$0]++')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -o filenames -F _countrace countrace
