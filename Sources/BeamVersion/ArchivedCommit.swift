/// `git archive` writes the commit here (.gitattributes), so that a tarball knows it.
let archivedCommit = "$Format:%h$"
