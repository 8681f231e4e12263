/* mcp/mcp.h: `gramme mcp`, a Model Context Protocol server on standard input and output for any
 * DynamoDB. Runs on the main thread of the program gramme-client. */
#ifndef GRAMME_MCP_MCP_H
#define GRAMME_MCP_MCP_H

/* Serves until standard input ends, with the arguments after `gramme mcp`. Returns the exit status:
 * 0 at the end of input, 2 if the command line is wrong. */
int mcp_main(int argc, char **argv);

#endif
