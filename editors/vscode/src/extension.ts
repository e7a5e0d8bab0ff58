// Starts `spaseq lsp` for query files; everything else than colours comes from there.

import * as path from "node:path";
import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const INSTALL = "pip install 'spaseq[lsp]', or set spaseq.command to the path of your environment";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(commands.registerCommand("spaseq.restart", restart));
  context.subscriptions.push(
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("spaseq.command")) void restart();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(): Promise<void> {
  await client?.stop();
  await start();
}

async function start(): Promise<void> {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const [command, ...args] = workspace.getConfiguration("spaseq").get<string[]>("command", ["spaseq", "lsp"]);
  const server: ServerOptions = { command: located(command, folder), args, options: { cwd: folder } };
  const options: LanguageClientOptions = { documentSelector: [{ language: "spaseq" }] };
  client = new LanguageClient("spaseq", "SPAseq", server, options);
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    void window.showWarningMessage(`The language server '${command}' did not start (${reason}): ${INSTALL}.`);
    client = undefined;
  }
}

/** A path with a separator is one of the folder that is open; a bare name is looked up in PATH. */
function located(command: string, folder: string | undefined): string {
  const isPath = command.includes("/") || command.includes("\\");
  return folder !== undefined && isPath && !path.isAbsolute(command) ? path.join(folder, command) : command;
}
