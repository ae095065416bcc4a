# Completion of optrace for Bash: source <(optrace completion bash)

_optrace() {
	local line=${COMP_LINE:0:COMP_POINT} words=() part word files=
	# Bash divides words at = and : as well; put them together again.
	for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if ((${#words[@]} == 0)) || [[ $line == [[:space:]]* ]]; then
			words+=("$part")
		else
			words[${#words[@]} - 1]+=$part
		fi
		line=${line#"${line%%[![:space:]]*}"}
		line=${line#"$part"}
	done
	local current=${words[${#words[@]} - 1]}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		if [[ $word == :files ]]; then
			files=1
			continue
		fi
		# What lies in front of the = stands there already.
		[[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && word=${word#*=}
		COMPREPLY+=("$word")
	done < <("${words[0]/#\~/$HOME}" completion words "${words[@]:1}" 2>/dev/null)
	# Without a word Bash completes the names of files.
	[[ $files ]] || compopt +o default 2>/dev/null
}

complete -o default -F _optrace optrace
