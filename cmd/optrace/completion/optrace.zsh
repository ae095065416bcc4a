#compdef optrace
# Completion of optrace for zsh: source <(optrace completion zsh)

_optrace() {
	local -a found
	local line files=
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			files=1
			continue
		fi
		line=${line//:/\\:}
		found+=("${line/$'\t'/:}")
	done < <("${~words[1]}" completion words "${(@)words[2,CURRENT]}" 2>/dev/null)
	local result=1
	((${#found})) && _describe optrace found && result=0
	[[ -n $files ]] && _files && result=0
	return $result
}

if [[ ${funcstack[1]} == _optrace ]]; then
	_optrace "$@"
else
	compdef _optrace optrace
fi
