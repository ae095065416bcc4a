# Completion of optrace for fish, to be put into ~/.config/fish/completions/optrace.fish

function __optrace_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	for line in ($words[1] completion words $words[2..-1] "$current" 2>/dev/null)
		if test "$line" = :files
			__fish_complete_path "$current"
		else
			echo $line
		end
	end
end

complete -c optrace -f -a '(__optrace_complete)'
